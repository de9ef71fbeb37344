"""What `cffs analyze --engine=spark` has Spark do (docs/SPARK.md): sessions, transactions and frequent itemsets as DataFrames.

Reading a line and mining a closed set is done by cffs itself in each task (replay/spark/part.h), so that there is one set of rules;
what is here deals the work out and puts the order of the log back together:

  accesses have a number, their place among all accesses of the logs; files are numbered by their first access; sessions come in the
  order in which the native engine closes them: at the stream's next access, at a sweep for idle ones (each 65,536th access), or
  at the end, where those that are left come as they began.

  here:      installation, then run (with master), logs, reading, cutting, mining; at last ending
  in tasks:  accesses, sessions, transactions, itemsets; they are shipped, this package as a zip, and import frames, part and problem

What runs before it is known that pyspark is there is installation, problem and ending, which need nothing.
"""
