#!/bin/sh
# Writes course_text_v1.txt, the text that `lockstep train` trains on unless told otherwise, from the project's own
# prose and code, and its checksum beside it. Run at a release only: every loss that is quoted depends on it.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."

target=common/data/course_text_v1.txt
# Tracked files only, in the order of the course, so that the same commit gives the same text everywhere.
{
  git ls-files README.md 'chapters/*.md' 'docs/*.md'
  git ls-files common/README.md 'common/*.[ch]pp' 'chapters/*.[ch]pp'
} | while IFS= read -r file; do
  printf '==== %s ====\n\n' "$file"
  cat "$file"
  printf '\n'
done > "$target.part"
mv "$target.part" "$target"
(cd common/data && sha256sum course_text_v1.txt > course_text_v1.txt.sha256 && cat course_text_v1.txt.sha256)
