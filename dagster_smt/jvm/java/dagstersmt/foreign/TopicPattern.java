package dagstersmt.foreign;

import dagstersmt.Bounded;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The pattern with which a class matches topics. The matching of some patterns never ends, and nothing could then stop
 * the class. So each new topic is first matched in a separate thread, and nothing waits for this thread longer than a
 * fixed time.
 */
final class TopicPattern {
    private static final long PATIENCE = 2000;
    private static final int MOST = 10_000;
    private final Pattern pattern;
    /** For each topic, true if matching the topic with the pattern ends. */
    private final Map<String, Boolean> tried = new HashMap<>();
    private boolean endless;

    TopicPattern(String pattern) {
        this.pattern = Pattern.compile(pattern);
    }

    /** Returns true if matching a topic with the pattern ends. */
    boolean ends(String topic) {
        if (topic == null) {
            return true;
        }
        Boolean known = tried.get(topic);
        if (known == null) {
            if (tried.size() >= MOST) {
                tried.clear();
            }
            known = !endless && isTried(topic);
            tried.put(topic, known);
        }
        return known;
    }

    private boolean isTried(String topic) {
        boolean[] done = new boolean[1];
        Thread thread = new Thread(() -> done[0] = isDone(topic), "pattern of a topic");
        thread.setDaemon(true);
        thread.start();
        try {
            thread.join(PATIENCE);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
        endless = thread.isAlive(); // the matching never releases the thread, so no further thread is started
        return !endless && done[0];
    }

    /**
     * Matches a topic as {@code RegexRouter} does. If the topic matches, {@code RegexRouter} searches for the pattern
     * again to replace it.
     */
    private boolean isDone(String topic) {
        try {
            Matcher matcher = pattern.matcher(new Bounded(topic));
            return !matcher.matches() || matcher.replaceFirst("") != null;
        } catch (RuntimeException | StackOverflowError e) {
            return false; // the matching has read too many characters, or has recursed too deeply
        }
    }
}
