package dev.windage.web;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/** One thread's access to the database: items, sellers, reviews. */
final class Items {
    private static final String DATABASE =
            "jdbc:h2:mem:items;DB_CLOSE_DELAY=-1;INIT=RUNSCRIPT FROM 'classpath:items.sql'";

    private final PreparedStatement item;
    private final PreparedStatement seller;
    private final PreparedStatement reviews;

    private Items(Connection connection) throws SQLException {
        item = connection.prepareStatement("SELECT name, price_cents, description, seller FROM item WHERE id = ?");
        seller = connection.prepareStatement("SELECT name, city, since FROM seller WHERE id = ?");
        reviews = connection.prepareStatement("SELECT stars, text FROM review WHERE item = ?");
    }

    /** Opens the database, and creates it if necessary. */
    static Items open() {
        try {
            return new Items(DriverManager.getConnection(DATABASE));
        } catch (SQLException error) {
            throw new IllegalStateException("could not open " + DATABASE, error);
        }
    }

    /** The item in JSON; null if there is no such item. */
    String show(int id) throws SQLException {
        StringBuilder json = new StringBuilder(1200);
        int ofSeller;
        item.setInt(1, id);
        try (ResultSet found = item.executeQuery()) {
            if (!found.next()) {
                return null;
            }
            json.append("{\"id\":").append(id);
            json.append(",\"name\":\"").append(found.getString(1));
            json.append("\",\"price_cents\":").append(found.getInt(2));
            json.append(",\"description\":\"").append(found.getString(3));
            ofSeller = found.getInt(4);
        }
        seller.setInt(1, ofSeller);
        try (ResultSet found = seller.executeQuery()) {
            found.next();
            json.append("\",\"seller\":{\"name\":\"").append(found.getString(1));
            json.append("\",\"city\":\"").append(found.getString(2));
            json.append("\",\"since\":").append(found.getInt(3));
        }
        json.append("},\"reviews\":[");
        reviews.setInt(1, id);
        try (ResultSet found = reviews.executeQuery()) {
            for (String between = ""; found.next(); between = ",") {
                json.append(between).append("{\"stars\":").append(found.getInt(1));
                json.append(",\"text\":\"").append(found.getString(2)).append("\"}");
            }
        }
        return json.append("]}").toString();
    }
}
