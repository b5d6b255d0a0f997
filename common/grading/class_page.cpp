#include "grading/class_report.hpp"

namespace lockstep::grading {
std::string class_html(const ClassReport&) { return "<!doctype html><title>class</title>\n"; }
}  // namespace lockstep::grading
