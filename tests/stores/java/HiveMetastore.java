import java.net.InetSocketAddress;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.IHMSHandler;
import org.apache.hadoop.hive.metastore.TSetIpAddressProcessor;
import org.apache.hadoop.hive.metastore.txn.TxnDbUtil;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TServerSocket;

/** Hive's metastore, from PySpark's own jars, over Derby. Arguments: port, folder, then key=value of its configuration.
 *
 * The program of Hive itself listens on all interfaces, and needs a schema that a script of Hive's makes first. */
public final class HiveMetastore {
    public static void main(String[] arguments) throws Exception {
        HiveConf conf = new HiveConf(HiveMetastore.class);
        conf.setVar(HiveConf.ConfVars.METASTORECONNECTURLKEY, "jdbc:derby:" + arguments[1] + "/metastore;create=true");
        conf.setVar(HiveConf.ConfVars.METASTOREWAREHOUSE, arguments[1] + "/hive");
        conf.setBoolVar(HiveConf.ConfVars.METASTORE_AUTO_CREATE_ALL, true);
        conf.setBoolVar(HiveConf.ConfVars.METASTORE_SCHEMA_VERIFICATION, false);
        for (int i = 2; i < arguments.length; i++) {
            String[] pair = arguments[i].split("=", 2);
            conf.set(pair[0], pair[1]);
        }
        conf.setVar(HiveConf.ConfVars.METASTORE_CONNECTION_POOLING_TYPE, "HikariCP"); // the default one is not in the jars
        TxnDbUtil.setConfValues(conf);
        TxnDbUtil.prepDb(conf); // the tables of locks
        IHMSHandler handler =
            HiveMetaStore.newRetryingHMSHandler(new HiveMetaStore.HMSHandler("server", conf, false), conf, true);
        TServerSocket socket = new TServerSocket(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])));
        new TThreadPoolServer(new TThreadPoolServer.Args(socket).processor(new TSetIpAddressProcessor<>(handler))).serve();
    }
}
