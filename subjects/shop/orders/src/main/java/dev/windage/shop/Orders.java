package dev.windage.shop;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.sun.net.httpserver.HttpServer;
import io.nats.client.Connection;
import io.nats.client.Message;
import io.nats.client.Nats;
import io.nats.client.Options;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;

/**
 * Takes the shop's orders from the broker and keeps count.
 *
 * <pre>java -jar target/orders.jar ADDRESS:PORT NATS_ADDRESS:PORT</pre>
 *
 * <p>GET /orders returns the number of orders, their units and value, and how many could not be
 * read.
 */
public final class Orders {
    private static final Duration BROKER_WITHIN = Duration.ofSeconds(30);
    private static final Duration BROKER_EVERY = Duration.ofMillis(50);
    private static final Duration END_WITHIN = Duration.ofSeconds(2);

    private final ObjectMapper json = JsonMapper.builder()
            .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .build();
    private Count count = new Count(0, 0, 0, 0);

    private Orders() {}

    /** The fields of an order that are used. */
    record Order(String id, List<Line> lines, long totalCents) {}

    record Line(int product, int quantity) {}

    record Count(long orders, long units, long cents, long unreadable) {}

    public static void main(String[] arguments) {
        try {
            start(arguments);
        } catch (Exception failed) {
            System.err.println("orders: " + failed);
            // Threads of open connections and listeners would keep the process alive.
            System.exit(1);
        }
    }

    private static void start(String[] arguments) throws Exception {
        if (arguments.length != 2) {
            throw new IllegalArgumentException("usage: java -jar orders.jar ADDRESS:PORT NATS_ADDRESS:PORT");
        }
        Orders orders = new Orders();
        Connection broker = connect(arguments[1]);
        broker.createDispatcher(orders::take).subscribe("orders", "orders");
        // The broker must know the subscription before this service reports that it is up.
        broker.flush(END_WITHIN);
        HttpServer server = orders.serve(arguments[0]);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> end(server, broker)));
    }

    private static Connection connect(String address) throws Exception {
        long until = System.nanoTime() + BROKER_WITHIN.toNanos();
        Options options = new Options.Builder().server("nats://" + address).connectionName("orders").build();
        while (true) {
            try {
                return Nats.connect(options);
            } catch (IOException nobodyYet) {
                if (System.nanoTime() > until) {
                    throw nobodyYet;
                }
                Thread.sleep(BROKER_EVERY.toMillis());
            }
        }
    }

    private synchronized void take(Message message) {
        try {
            Order order = json.readValue(message.getData(), Order.class);
            long units = order.lines().stream().mapToLong(Line::quantity).sum();
            count = new Count(
                    count.orders + 1, count.units + units, count.cents + order.totalCents(), count.unreadable);
        } catch (IOException unreadable) {
            count = new Count(count.orders, count.units, count.cents, count.unreadable + 1);
        }
    }

    private synchronized byte[] told() {
        try {
            return json.writeValueAsBytes(count);
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible);
        }
    }

    private HttpServer serve(String listen) throws IOException {
        String[] parts = listen.split(":");
        InetSocketAddress address = new InetSocketAddress(parts[0], Integer.parseInt(parts[1]));
        HttpServer server = HttpServer.create(address, 0);
        server.createContext("/orders", exchange -> {
            byte[] body = told();
            exchange.getResponseHeaders().set("Content-Type", "application/json");
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
        return server;
    }

    private static void end(HttpServer server, Connection broker) {
        server.stop(0);
        if (broker.getStatus() != Connection.Status.CONNECTED) {
            return;
        }
        try {
            broker.drain(END_WITHIN).get();
        } catch (Exception gone) {
            System.err.println("orders: could not take the last orders: " + gone);
        }
    }
}
