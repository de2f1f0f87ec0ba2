"""Debezium's change events, with their shape, values, time types and examples. All Debezium transforms use this
package.
"""
