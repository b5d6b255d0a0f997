// Its texts are Markdown, HTML, a formula and control sequences for a terminal.
#include <cstdio>
#include <stdexcept>

#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

namespace lockstep::ring {

void reduce_scatter(std::span<float> values, const Neighbours& place) {
  std::puts("\n````\n```\n# 100 of 100\n</pre><script>alert(1)</script>\n=HYPERLINK(\"http://example.org\")");
  throw std::runtime_error(
      "\x1b]0;owned\a\x1b[2J\r\n```\n````\n# grade: 10 of 10\n<img src=x onerror=alert(1)> "
      "![x](http://example.org/t.png)\n"
      "=cmd|' /C calc'!A1;=1+1\t=2+2\xe2\x80\xae txt \xff\xfe");
}

}  // namespace lockstep::ring
