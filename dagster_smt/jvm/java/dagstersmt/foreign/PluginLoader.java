package dagstersmt.foreign;

import java.io.IOException;
import java.io.InputStream;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Loads the classes of one plug-in. Classes in the plug-in take precedence over those of the parent. The rules are
 * those of Kafka Connect's {@code PluginClassLoader} and {@code PluginUtils.shouldLoadInIsolation}: Java's own
 * packages, SLF4J and Kafka's interfaces always come from the parent, but Kafka's transforms and converters may come
 * from the plug-in.
 */
final class PluginLoader extends URLClassLoader {
    private static final Pattern PARENT = Pattern.compile("^(?:java"
            + "|javax\\.(?:accessibility|activation|activity|annotation|batch\\.(?:api|operations|runtime)|crypto"
            + "|decorator|ejb|el|enterprise\\.(?:concurrent|context|deploy\\.model|deploy\\.shared|deploy\\.spi|inject"
            + "|util)|faces|imageio|inject|jms|json|jws|lang\\.model|mail|management|naming|net|persistence|print"
            + "|resource|rmi|script|security\\.(?:auth|cert|jacc|sasl)|servlet|sound\\.(?:midi|sampled)|sql|swing"
            + "|tools|transaction|validation|websocket|ws\\.rs|xml)"
            + "|org\\.ietf\\.jgss"
            + "|org\\.omg\\.(?:CORBA|CosNaming|Dynamic|DynamicAny|IOP|Messaging|PortableInterceptor|PortableServer"
            + "|SendingContext|stub\\.java\\.rmi)"
            + "|org\\.w3c\\.dom|org\\.xml\\.sax|org\\.slf4j|org\\.apache\\.kafka)\\..*$");
    private static final Pattern OWN = Pattern.compile("^org\\.apache\\.kafka\\.(?:connect\\.(?:"
            + "transforms\\.(?!Transformation|predicates\\.Predicate$).*"
            + "|json\\..*|file\\..*|mirror\\..*|mirror-client\\..*|converters\\..*"
            + "|storage\\.(?:StringConverter|SimpleHeaderConverter))"
            + "|common\\.config\\.provider\\.(?!ConfigProvider$).*)$");

    static {
        registerAsParallelCapable();
    }

    private final boolean guarded;

    private PluginLoader(URL[] jars, ClassLoader parent, boolean guarded) {
        super(jars, parent);
        this.guarded = guarded;
    }

    /**
     * Returns a class loader for {@code jars}. If it is guarded, it rejects classes that call a method that ends this
     * JVM.
     */
    static PluginLoader of(List<String> jars, ClassLoader parent, boolean guarded) {
        URL[] urls = new URL[jars.size()];
        for (int n = 0; n < urls.length; n++) {
            try {
                urls[n] = Path.of(jars.get(n)).toUri().toURL();
            } catch (MalformedURLException e) {
                throw new IllegalStateException(e);
            }
        }
        return new PluginLoader(urls, parent, guarded);
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        if (guarded && isEnding(name)) {
            throw new ClassNotFoundException(name + " may end this JVM");
        }
        return super.findClass(name);
    }

    private boolean isEnding(String name) {
        URL file = findResource(name.replace('.', '/') + ".class");
        if (file == null) {
            return false;
        }
        try (InputStream in = file.openStream()) {
            return EndsJvm.isCalled(in.readAllBytes());
        } catch (IOException e) {
            return true; // it is unknown whether the class ends the JVM
        }
    }

    static boolean isOwn(String name) {
        return !PARENT.matcher(name).matches() || OWN.matcher(name).matches();
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            if (loaded == null && isOwn(name)) {
                try {
                    loaded = findClass(name);
                } catch (ClassNotFoundException e) {
                    loaded = null; // the parent may have the class
                }
            }
            if (loaded == null) {
                return super.loadClass(name, resolve);
            }
            if (resolve) {
                resolveClass(loaded);
            }
            return loaded;
        }
    }

    @Override
    public URL getResource(String name) {
        URL own = findResource(name);
        return own == null ? super.getResource(name) : own;
    }

    @Override
    public Enumeration<URL> getResources(String name) throws IOException {
        List<URL> urls = new ArrayList<>(Collections.list(findResources(name)));
        urls.addAll(Collections.list(getParent().getResources(name)));
        return Collections.enumeration(urls);
    }
}
