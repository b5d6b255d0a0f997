#include "launch/local/output_merger.hpp"

#include "base/terminal.hpp"
#include "base/text.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::launch;
using enum lockstep::launch::OutputStream;

namespace {

struct Merged {
  explicit Merged(OutputStyle style = OutputStyle::kPrefixed)
      : merger(3, style, [this](OutputStream stream, std::string_view text) { (stream == kOut ? out : err) += text; }) {
  }
  std::string out;
  std::string err;
  OutputMerger merger;
};

}  // namespace

TEST_CASE("whole lines carry the rank, half lines wait for their end", "[launch]") {
  Merged merged;
  merged.merger.add(1, kOut, "one\ntw");
  merged.merger.add(2, kOut, "other\n");
  CHECK(merged.out == "[rank 1] one\n[rank 2] other\n");
  merged.merger.add(1, kOut, "o\nthree");
  CHECK(merged.out == "[rank 1] one\n[rank 2] other\n[rank 1] two\n");
  merged.merger.close(1, kOut);
  CHECK(merged.out == "[rank 1] one\n[rank 2] other\n[rank 1] two\n[rank 1] three\n");
}

TEST_CASE("the two streams of a rank stay apart", "[launch]") {
  Merged merged;
  merged.merger.add(0, kOut, "a");
  merged.merger.add(0, kErr, "b\n");
  merged.merger.add(0, kOut, "c\n");
  CHECK(merged.out == "[rank 0] ac\n");
  CHECK(merged.err == "[rank 0] b\n");
}

TEST_CASE("an endless line is passed on in pieces", "[launch]") {
  Merged merged;
  merged.merger.add(0, kOut, std::string(OutputMerger::kLongestLine + 1, 'x'));
  CHECK(merged.out.size() > OutputMerger::kLongestLine);
}

TEST_CASE("the pieces of an endless line end with a whole character", "[launch]") {
  const std::string character = GENERATE(as<std::string>(), "\u00e9", "\u20ac", "\U0001f600", "\xe9" /* Latin-1 */);
  const std::string prefix = "[rank 0] ";
  for (std::size_t shift = 0; shift < character.size(); ++shift) {
    Merged merged;
    const std::string start(OutputMerger::kLongestLine - shift, 'x');
    merged.merger.add(0, kOut, start + character + character);
    merged.merger.add(0, kOut, character + "end\n");
    std::string joined;
    for (std::size_t at = 0; at < merged.out.size();) {
      const std::size_t end = merged.out.find('\n', at);
      const std::string line = merged.out.substr(at + prefix.size(), end - at - prefix.size());
      CHECK((static_cast<unsigned char>(line.front()) & 0xC0) != 0x80);  // no later byte of a character
      joined += line;
      at = end + 1;
    }
    CHECK(joined == start + character + character + character + "end");
  }
}

TEST_CASE("the last lines of both streams are kept, progress lines as they were left", "[launch]") {
  Merged merged;
  for (int i = 0; i < 20; ++i) merged.merger.add(1, kOut, std::to_string(i) + "\n");
  merged.merger.add(1, kErr, "step 1\rstep 2\rstep 3\n");
  const std::vector<std::string> lines = merged.merger.last_lines(1);
  REQUIRE(lines.size() == OutputMerger::kKeptLines);
  CHECK(lines.back() == "step 3");
  CHECK(lines.front() == "11");
  CHECK(merged.merger.last_lines(0).empty());
}

TEST_CASE("rank 0 may speak without prefix, in whole lines", "[launch]") {
  Merged merged(OutputStyle::kFirstPlain);
  merged.merger.add(0, kOut, "step");
  CHECK(merged.out.empty());
  merged.merger.add(0, kOut, " 1\n");
  merged.merger.add(1, kOut, "warning\n");
  CHECK(merged.out == "step 1\n[rank 1] warning\n");
}

TEST_CASE("lines can be passed on as they are", "[launch]") {
  Merged merged(OutputStyle::kPlain);
  merged.merger.add(1, kOut, "1,2\n3");
  merged.merger.add(0, kOut, "4,5\n");
  merged.merger.close(1, kOut);
  CHECK(merged.out == "1,2\n4,5\n3\n");
}

TEST_CASE("a live progress line makes room for other lines and comes back", "[launch]") {
  Merged merged(OutputStyle::kFirstLive);
  merged.merger.add(0, kOut, "begin\n\rstep 1");
  CHECK(merged.out == "begin\n\rstep 1");
  merged.merger.add(1, kOut, "warning\n");
  CHECK(merged.out == "begin\n\rstep 1\r \033[J\r[rank 1] warning\nstep 1");
  merged.merger.close(0, kOut);
  merged.merger.announce("end");
  CHECK(merged.err == "end\n");
  CHECK(merged.out.back() == '\n');
  CHECK(merged.merger.last_lines(0).back() == "step 1");
}

TEST_CASE("a live line whose cursor waits at its beginning comes back whole", "[launch]") {
  Merged merged(OutputStyle::kFirstLive);
  for (const int step : {1, 2}) merged.merger.add(0, kOut, live_line(concat("step ", step)));
  const std::string before = merged.out;
  merged.merger.add(1, kOut, "warning\n");
  CHECK(merged.out == before + "\r \033[J\r[rank 1] warning\n\033[?7lstep 2\033[J\033[?7h\r");
  merged.merger.close(0, kOut);
  CHECK_THAT(merged.out, ContainsSubstring("\r \033[J\r\033[?7lstep 2\033[J\033[?7h\n"));
  CHECK(merged.merger.last_lines(0) == std::vector<std::string>{"step 2"});
}

TEST_CASE("a live line that is redrawn for hours is still one line", "[launch]") {
  Merged merged(OutputStyle::kFirstLive);
  for (int step = 0; step < 10'000; ++step) merged.merger.add(0, kOut, live_line(concat("step ", step)));
  CHECK(merged.out.find('\n') == std::string::npos);
  CHECK(merged.merger.last_lines(0).empty());
}

TEST_CASE("lines for people are wrapped, live ones are their rank's", "[launch]") {
  Merged merged(OutputStyle::kFirstLive);
  merged.merger.wrap([](OutputStream, std::string_view line) { return wrap_words(line, 12); });
  merged.merger.add(1, kOut, "two words\n");
  merged.merger.add(0, kOut, "as wide as it was written\n");
  merged.merger.announce("rank 1 failed");
  CHECK(merged.out == "[rank 1] two\nwords\nas wide as it was written\n");
  CHECK(merged.err == "rank 1\nfailed\n");
}
