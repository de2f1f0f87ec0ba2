package acme;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.kafka.connect.connector.ConnectRecord;

/** Writes a file when it is opened and when it is closed; the option is the folder. */
public class Closes<R extends ConnectRecord<R>> extends Base<R> {
    @Override
    public void configure(Map<String, ?> configs) {
        super.configure(configs);
        write("opened");
    }

    private void write(String what) {
        try {
            Files.createFile(Path.of(option, what + "-" + System.nanoTime()));
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        write("closed");
    }

    @Override
    public R apply(R record) {
        return record;
    }
}
