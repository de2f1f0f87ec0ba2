package acme;

import org.apache.kafka.connect.connector.ConnectRecord;

/** Ends the Java process at marked records: with the method that the option names. */
public class Exits<R extends ConnectRecord<R>> extends Base<R> {
    @Override
    public R apply(R record) {
        if (marked(record)) {
            if (option.equals("halt")) {
                Runtime.getRuntime().halt(1);
            }
            System.exit(1);
        }
        return record;
    }
}
