#include "base/json.hpp"

#include <nlohmann/json.hpp>

namespace lockstep {

namespace {

template <typename Json>
std::string dump(const Json& value, int indent, BadUtf8 bad_utf8) {
  using Handler = nlohmann::json::error_handler_t;
  return value.dump(indent, ' ', false, bad_utf8 == BadUtf8::kReplace ? Handler::replace : Handler::strict);
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
