#include "trace/report.hpp"

#include "base/plain_text.hpp"
#include "trace/report_assets.hpp"

namespace lockstep::trace {

std::string html_page(const std::string& title, const std::string& body) {
  std::string page = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  page += "<meta name=\"color-scheme\" content=\"light dark\">\n";
  page += "<title>" + escape_html(title) + "</title>\n<style>\n";
  page += report_css();
  page += "</style>\n</head>\n<body>\n<main>\n<h1>" + escape_html(title) + "</h1>\n" + body + "</main>\n<script>\n";
  page += report_js();
  return page + "</script>\n</body>\n</html>\n";
}

std::string fact_table(std::span<const std::pair<std::string, std::string>> facts, const std::string& caption) {
  std::string table = "<table class=\"facts\">";
  if (!caption.empty()) table += "<caption>" + escape_html(caption) + "</caption>";
  table += "<tbody>\n";
  for (const auto& [name, value] : facts)
    table += "<tr><th scope=\"row\">" + escape_html(name) + "</th><td>" + escape_html(value) + "</td></tr>\n";
  return table + "</tbody></table>\n";
}

}  // namespace lockstep::trace
