"""Chains of transforms: their parsing, their plans (the schema after each stage), and explanations of plans."""

from dagster_smt.authoring.stage import Chain as Chain
from dagster_smt.authoring.stage import Stage as Stage
from dagster_smt.chain.parse import parse_chain as parse_chain
from dagster_smt.chain.plan import Plan as Plan
from dagster_smt.chain.plan import plan_chain as plan_chain
