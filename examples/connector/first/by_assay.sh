#!/bin/sh
# Rows to a first batch, by this program.
URI=s3://bucket/rows
assay data convert rows.jsonl "$URI" && assay data read "$URI" --shuffle py1e --count 4
