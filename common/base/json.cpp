#include "base/json.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/utf8.hpp"

namespace lockstep {

namespace {

// The first string or name of `value` that JSON cannot hold: "/data is caf\xe9.txt".
template <typename Json>
std::string text_without_utf8(const Json& value) {
  const Json leaves = value.flatten();
  for (const auto& [place, leaf] : leaves.items()) {
    if (!is_utf8(place)) return concat("a name in ", printable(place));
    if (leaf.is_string() && !is_utf8(leaf.template get_ref<const std::string&>()))
      return concat(place.empty() ? "the text" : place, " is ", printable(leaf.template get_ref<const std::string&>()));
  }
  return "a text";
}

template <typename Json>
std::string dump(const Json& value, int indent, BadUtf8 bad_utf8) {
  using Handler = nlohmann::json::error_handler_t;
  if (bad_utf8 == BadUtf8::kReplace) return value.dump(indent, ' ', false, Handler::replace);
  try {
    return value.dump(indent, ' ', false, Handler::strict);
  } catch (const typename Json::type_error&) {
    throw FormatError(concat("cannot be written as JSON, which is UTF-8: ", text_without_utf8(value)));
  }
}

}  // namespace

nlohmann::json parse_json(std::string_view text) { return nlohmann::json::parse(text); }

std::string dump_json(const nlohmann::json& value, int indent, BadUtf8 bad_utf8) {
  return dump(value, indent, bad_utf8);
}

std::string dump_json(const nlohmann::ordered_json& value, int indent, BadUtf8 bad_utf8) {
  return dump(value, indent, bad_utf8);
}

}  // namespace lockstep
