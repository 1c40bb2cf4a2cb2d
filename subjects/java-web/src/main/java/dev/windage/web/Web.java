package dev.windage.web;

import io.javalin.Javalin;
import io.javalin.http.Context;
import io.javalin.http.NotFoundResponse;
import java.sql.SQLException;

/**
 * A web service as it is without telemetry; an agent that the JVM loads instruments it.
 *
 * <pre>java -jar target/java-web.jar ADDRESS:PORT FOLDER</pre>
 *
 * <p>GET /items/{id} does three selects in a SQLite database that it makes in FOLDER, and answers about 1 KB.
 */
public final class Web {
    private final ThreadLocal<Items> items;

    private Web(String folder) {
        items = ThreadLocal.withInitial(() -> Items.open(folder));
    }

    public static void main(String[] arguments) throws SQLException {
        String[] listen = arguments[0].split(":");
        String folder = arguments[1];
        Items.make(folder);
        Web web = new Web(folder);
        Javalin service = Javalin.create(config -> {
            config.startup.showJavalinBanner = false;
            config.routes.get("/items/{id}", web::showItem);
        });
        service.start(listen[0], Integer.parseInt(listen[1]));
    }

    private void showItem(Context context) throws SQLException {
        int id = Integer.parseInt(context.pathParam("id"));
        String json = items.get().show(id);
        if (json == null) {
            throw new NotFoundResponse("no such item");
        }
        context.contentType("application/json").header("cache-control", "no-store").result(json);
    }
}
