"""Foreign stages: transforms and predicates of Kafka Connect that run from their jars (decision 35).

A chain of Kafka Connect may use classes that this package does not have. With ``smt_jars``, such a class runs
unchanged: a separate Java process, the *host*, loads the class, and records travel to the host and back.

| module | contents |
|---|---|
| ``jars``, ``maven`` | the plug-ins of ``smt_jars``, their jars and their classes |
| ``stages`` | foreign transforms and predicates as stages of a chain |
| ``host`` | the Java process |
| ``wire`` | conversion of records into bytes, and of bytes into records |
| ``segment`` | adjacent foreign stages, which run on a batch of records |
| ``kafkas_classes`` | chains that need no host, because all their classes are Kafka's |
| ``check`` | check of a class's options with its own ``ConfigDef`` |
"""
