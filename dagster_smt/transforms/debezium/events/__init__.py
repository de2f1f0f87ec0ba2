"""Handles Debezium's change events: their structure, values, time types and examples. All Debezium transforms use this
package.
"""
