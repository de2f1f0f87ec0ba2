package dagstersmt.foreign;

import dagstersmt.Bounded;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The pattern that a class matches with topics. The matching of some patterns never ends, and nothing could stop the
 * class. Each new topic is therefore tried first, in a thread for which nothing waits longer than a fixed time.
 */
final class TopicPattern {
    private static final long PATIENCE = 2000;
    private static final int MOST = 10_000;
    private final Pattern pattern;
    /** For each topic, true if the matching of the pattern ends. */
    private final Map<String, Boolean> tried = new HashMap<>();
    private boolean endless;

    TopicPattern(String pattern) {
        this.pattern = Pattern.compile(pattern);
    }

    /** Returns true if the matching of the pattern to a topic ends. */
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
        endless = thread.isAlive(); // it has the thread for good, so it gets no other
        return !endless && done[0];
    }

    /** Does the same as {@code RegexRouter}, which searches for the pattern again in a topic that matches. */
    private boolean isDone(String topic) {
        try {
            Matcher matcher = pattern.matcher(new Bounded(topic));
            return !matcher.matches() || matcher.replaceFirst("") != null;
        } catch (RuntimeException | StackOverflowError e) {
            return false; // it looks too often, or too deep
        }
    }
}
