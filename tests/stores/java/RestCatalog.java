import java.util.HashMap;
import java.util.Map;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/** Iceberg's own REST catalog, from the jar of its tests, over a catalog in SQLite. Arguments: port, then key=value. */
public final class RestCatalog {
    public static void main(String[] arguments) throws Exception {
        Map<String, String> properties = new HashMap<>();
        for (int i = 1; i < arguments.length; i++) {
            String[] pair = arguments[i].split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        JdbcCatalog catalog = new JdbcCatalog();
        catalog.initialize("server", properties);
        ServletContextHandler context = new ServletContextHandler();
        context.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(catalog))), "/*");
        Server server = new Server();
        ServerConnector connector = new ServerConnector(server);
        connector.setHost("127.0.0.1");
        connector.setPort(Integer.parseInt(arguments[0]));
        server.addConnector(connector);
        server.setHandler(context);
        server.start();
        server.join();
    }
}
