package dev.windage.web;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** What one thread reads of the database: items, sellers, reviews. */
final class Items {
    private static final int ITEMS = 1000;
    private static final int SELLERS = 50;
    private static final int REVIEWS_OF_AN_ITEM = 5;

    private final PreparedStatement item;
    private final PreparedStatement seller;
    private final PreparedStatement reviews;

    private Items(Connection connection) throws SQLException {
        item = connection.prepareStatement("SELECT name, price_cents, description, seller FROM item WHERE id = ?");
        seller = connection.prepareStatement("SELECT name, city, since FROM seller WHERE id = ?");
        reviews = connection.prepareStatement("SELECT stars, text FROM review WHERE item = ?");
    }

    static Items open(String folder) {
        try {
            return new Items(connect(folder));
        } catch (SQLException error) {
            throw new IllegalStateException("the database in " + folder + " could not be opened", error);
        }
    }

    private static Connection connect(String folder) throws SQLException {
        return DriverManager.getConnection("jdbc:sqlite:" + folder + "/items.db");
    }

    /** Makes the database. */
    static void make(String folder) throws SQLException {
        try (Connection connection = connect(folder); Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("CREATE TABLE seller (id INTEGER PRIMARY KEY, name TEXT, city TEXT, since INTEGER)");
            statement.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price_cents INTEGER,"
                    + " description TEXT, seller INTEGER)");
            statement.execute("CREATE TABLE review (item INTEGER, stars INTEGER, text TEXT)");
            statement.execute(rows(SELLERS) + "INSERT INTO seller"
                    + " SELECT n, 'Seller ' || n, 'City ' || (n % 7), 2000 + n % 20 FROM row");
            statement.execute(rows(ITEMS) + "INSERT INTO item SELECT n, 'Item ' || n, 100 + 7 * n,"
                    + " replace(hex(zeroblob(15)), '00', 'What there is to say about item ' || n || '. '),"
                    + " 1 + n % " + SELLERS + " FROM row");
            statement.execute(rows(ITEMS * REVIEWS_OF_AN_ITEM) + "INSERT INTO review"
                    + " SELECT 1 + n % " + ITEMS + ", 1 + n % 5,"
                    + " 'Review ' || n || ' of an item: it does what it should.' FROM row");
            statement.execute("CREATE INDEX review_of_item ON review (item)");
            connection.commit();
        }
    }

    /** Begins a statement that may select the whole numbers from 1 to {@code count} as {@code n} from {@code row}. */
    private static String rows(int count) {
        return "WITH RECURSIVE row (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM row WHERE n < " + count + ") ";
    }

    /** The item in JSON; null when there is none of that number. */
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
