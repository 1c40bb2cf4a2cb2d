package dev.windage.web;

import io.javalin.Javalin;
import io.javalin.http.Context;
import io.javalin.http.NotFoundResponse;
import java.sql.SQLException;

/**
 * A web service without telemetry; an agent that the JVM loads instruments it.
 *
 * <pre>java -jar target/java-web.jar ADDRESS:PORT</pre>
 *
 * <p>GET /items/{id} does three selects in an in-memory database, and answers about 1 KB.
 */
public final class Web {
    private static final ThreadLocal<Items> ITEMS = ThreadLocal.withInitial(Items::open);

    private Web() {}

    public static void main(String[] arguments) {
        String[] listen = arguments[0].split(":");
        Javalin service = Javalin.create(config -> {
            config.startup.showJavalinBanner = false;
            config.routes.get("/items/{id}", Web::showItem);
        });
        service.start(listen[0], Integer.parseInt(listen[1]));
    }

    private static void showItem(Context context) throws SQLException {
        int id = Integer.parseInt(context.pathParam("id"));
        String json = ITEMS.get().show(id);
        if (json == null) {
            throw new NotFoundResponse("no such item");
        }
        context.contentType("application/json").header("cache-control", "no-store").result(json);
    }
}
