#include "base/foreign_file.hpp"

#include "support/catch.hpp"

using namespace lockstep;

namespace {

std::string as_utf16(const std::string& text, bool is_big_endian) {
  std::string wide;
  for (const char c : text) wide += is_big_endian ? std::string{'\0', c} : std::string{c, '\0'};
  return wide;
}

}  // namespace

TEST_CASE("what stands where another file should is called by its name, with what to do", "[base]") {
  const std::string text = "Call me Ishmael. Some years ago, never mind how long precisely.";
  struct Case {
    std::string bytes;
    ForeignKind kind;
    std::string part;
  };
  const std::vector<Case> cases{
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", ForeignKind::kLfsPointer, "git lfs pull"},
      {"\n  <!DOCTYPE HTML><html>", ForeignKind::kHtml, "HTML page"},
      {"\xEF\xBB\xBF<html lang=\"en\">", ForeignKind::kHtml, "download it again"},
      {std::string("\x1F\x8B\x08\0", 4), ForeignKind::kCompressed, "gunzip f.txt"},
      {"BZh91AY&SY", ForeignKind::kCompressed, "bunzip2 f.txt"},
      {std::string("\xFD\x37zXZ\0", 6), ForeignKind::kCompressed, "unxz f.txt"},
      {"\x28\xB5\x2F\xFD", ForeignKind::kCompressed, "unzstd f.txt"},
      {"PK\x03\x04", ForeignKind::kZip, "torch.save()"},
      {"\xFF\xFE" + as_utf16(text, false), ForeignKind::kUtf16, "iconv -f UTF-16 -t UTF-8 f.txt"},
      {"\xFE\xFF" + as_utf16(text, true), ForeignKind::kUtf16, "iconv -f UTF-16 "},
      {as_utf16(text, false), ForeignKind::kUtf16, "iconv -f UTF-16LE"},
      {as_utf16(text, true), ForeignKind::kUtf16, "iconv -f UTF-16BE"},
      {std::string("\xFF\xFE\0\0", 4), ForeignKind::kUtf16, "UTF-32"}};
  for (const Case& each : cases) {
    const auto found = explain_foreign_file(each.bytes, "f.txt");
    REQUIRE(found.has_value());
    CHECK(found->kind == each.kind);
    CHECK_THAT(found->explanation, ContainsSubstring(each.part));
  }
}

TEST_CASE("texts and numbers are not taken for something else", "[base]") {
  std::string numbers;  // small ones of four bytes have many zeros, but not at every other place
  for (int i = 0; i < 100; ++i) numbers += std::string{static_cast<char>(i), '\1', '\0', '\0'};
  for (const std::string& bytes :
       {std::string(), std::string("x"), std::string("version 2 of a text"), std::string("The <html> element"),
        std::string(64, '\0'), std::string("\x1F\x8B is no gzip"), numbers})
    CHECK_FALSE(explain_foreign_file(bytes, "f").has_value());
}
