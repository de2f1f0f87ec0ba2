"""Looks up classes of the session's JVM."""

from typing import Any


def java_class(session: Any, name: str) -> Any:
    """Returns a Java class of the session's JVM. A call of the result creates an object, and its attributes are the
    static methods.

    Py4J also accepts ``session._jvm.java.lang.String``. It then asks Java for a class ``java``, a class ``java.lang``
    and so on. For each of these names Java searches all jars, which takes a millisecond or more. With the whole name
    there is one search.

    Args:
        session: A classic session. A session of Spark Connect raises PySpark's own error.
        name: The full name, such as ``java.lang.String``. Py4J takes a name that does not exist for a package. The
            error follows at the first call: a package cannot be called.
    """
    return getattr(session._jvm, name)
