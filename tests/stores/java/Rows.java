import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;

/** Prints the rows of a query, one a line, with tabs between the columns. Arguments: JDBC address, user, query. */
public final class Rows {
    public static void main(String[] arguments) throws Exception {
        try (Connection connection = DriverManager.getConnection(arguments[0], arguments[1], "")) {
            ResultSet rows = connection.createStatement().executeQuery(arguments[2]);
            while (rows.next()) {
                StringBuilder line = new StringBuilder(String.valueOf(rows.getObject(1)));
                for (int column = 2; column <= rows.getMetaData().getColumnCount(); column++) {
                    line.append('\t').append(rows.getObject(column));
                }
                System.out.println(line);
            }
        }
    }
}
