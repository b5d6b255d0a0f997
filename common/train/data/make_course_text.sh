#!/bin/sh
# Writes course_text_v2.txt, the text that `lockstep train` trains on unless told otherwise, from the project's own
# lessons, guides, programs and headers of chapters, and its checksum beside it. Run it for a release only, with a new
# number: every loss that is quoted depends on the text.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../../.."

target=common/train/data/course_text_v2.txt
# Tracked files only, in the order of the course, so that the same commit gives the same text everywhere.
{
  git ls-files README.md 'chapters/*.md' 'docs/*.md'
  git ls-files 'chapters/*.hpp' 'chapters/*/programs/*.cpp'
} | while IFS= read -r file; do
  printf '==== %s ====\n\n' "$file"
  cat "$file"
  printf '\n'
done > "$target.part"
mv "$target.part" "$target"
(cd common/train/data && sha256sum course_text_v2.txt > course_text_v2.txt.sha256 && cat course_text_v2.txt.sha256)
