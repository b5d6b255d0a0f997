#include "grading/gradebooks.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string_view>
#include <tuple>

#include "base/error.hpp"
#include "base/plain_text.hpp"
#include "base/terminal.hpp"
#include "grading/markup.hpp"
#include "grading/student_files.hpp"

namespace lockstep::grading {
namespace {

using Row = std::vector<std::string>;

std::string_view without_mark(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

// Commas, or what some countries' settings put in their place.
char separator_of(std::string_view text) {
  const std::string_view header = text.substr(0, text.find('\n'));
  char best = ',';
  for (const char one : {';', '\t'})
    if (std::ranges::count(header, one) > std::ranges::count(header, best)) best = one;
  return best;
}

// The cells of a file (RFC 4180), without empty lines.
std::vector<Row> read_table(std::string_view text) {
  text = without_mark(text);
  const char separator = separator_of(text);
  std::vector<Row> rows;
  Row row = {""};
  bool is_quoted = false;
  const auto end_row = [&] {
    if (row.size() > 1 || !row.front().empty()) rows.push_back(row);
    row = {""};
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (letter == '"' && is_quoted && i + 1 < text.size() && text[i + 1] == '"')
      row.back() += text[++i];
    else if (letter == '"' && (is_quoted || row.back().empty()))
      is_quoted = !is_quoted;
    else if (letter == separator && !is_quoted)
      row.emplace_back();
    else if (letter == '\n' && !is_quoted)
      end_row();
    else if (letter != '\r' || is_quoted)
      row.back() += letter;
  }
  end_row();
  return rows;
}

std::string cell_of(const Row& row, std::size_t column) { return column < row.size() ? row[column] : ""; }

std::string csv_line(const Row& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i > 0 ? "," : "") + csv_cell(cells[i]);
  return line + "\n";
}

std::size_t place_of(const Row& header, const std::string& name) {
  return static_cast<std::size_t>(std::ranges::find(header, name) - header.begin());
}

// "1,000" and "1.000": 1000 in some countries, 1 with three decimals in others.
bool has_two_readings(const std::string& text) {
  const std::size_t sign = text.find_first_of(",.");
  return sign != std::string::npos && sign > 0 && sign <= 3 && text.front() != '0' && text.size() == sign + 4 &&
         text.find_first_of(",.", sign + 1) == std::string::npos;
}

// A maximum as Moodle and Canvas write it: "100.00" and "1,000.00", in some countries "100,00" and "1.000,00". Nothing:
// there is none ("-", "(read only)", 0).
std::optional<double> maximum_in(const std::string& cell) {
  if (cell.find_first_of("0123456789") == std::string::npos) return std::nullopt;
  const auto refuse = [&](const std::string& why) {
    throw FormatError(concat("the maximum \"", plain_text(cell, 100, LineBreaks::kReplace), "\" ", why,
                             ": write it without separators in the exported file, such as 1000 or 1.5"));
  };
  if (has_two_readings(cell)) refuse("can be read in two ways");
  std::string text = cell;
  const std::size_t last = text.find_last_of(",.");
  if (last != std::string::npos) {
    const bool is_alone = std::ranges::count(text, text[last]) == 1;
    if (!is_alone && text.find(text[last] == ',' ? '.' : ',') != std::string::npos) refuse("is not a number of points");
    const char decimal = is_alone ? text[last] : '\0';  // "1.000.000" has none
    std::erase_if(text, [&](char letter) { return (letter == ',' || letter == '.') && letter != decimal; });
    std::ranges::replace(text, ',', '.');
  }
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0' || !(value >= 0 && value < 1e9)) refuse("is not a number of points");
  return value > 0 ? std::optional(value) : std::nullopt;
}

std::string digits_at_end(const std::string& text) {
  const std::size_t before = text.find_last_not_of("0123456789");
  return before == std::string::npos ? text : text.substr(before + 1);
}

// Without scaling, the points that grades.csv shows.
std::string scaled(const StudentGrade& grade, const std::optional<double>& maximum) {
  const double most = grade.max_points();
  if (!maximum || most <= 0 || *maximum == most) return with_digits(grade.points(), 2);
  return with_digits(grade.exact_points() / most * *maximum, 2);
}

// Letters and digits of ASCII: the platforms write others in different ways.
std::string comparable_ascii(const std::string& name) {
  std::string text = comparable_name(name);
  std::erase_if(text, [](char letter) { return static_cast<unsigned char>(letter) >= 0x80; });
  return text;
}

// Moodle puts a group's or a login's name in front. A team's number may be another student's number, but it has
// another name.
bool is_same_student(const DownloadName& name, const std::string& in_table) {
  return in_table.empty() || name.hides_student() ||
         comparable_ascii(name.student).ends_with(comparable_ascii(in_table));
}

std::string shown_cell(const std::string& text) { return plain_text(text, 100, LineBreaks::kReplace); }

// "02.1: 7 of 7. 02.2: 3 of 10, WRONG.": only our own words.
std::string feedback_of(const StudentGrade& grade) {
  std::string text;
  for (const ExerciseGrade& one : grade.exercises)
    text += concat(text.empty() ? "" : " ", one.id, ": ", one.points, " of ", one.max_points,
                   one.verdict == "passed" ? "" : concat(", ", one.verdict), ".");
  return text;
}

// Finds the row of each grade of a platform, and calls `take` with it, also for a submission that was not graded.
// @param number_of  A row's number of the student. @param name_of  A row's name; empty: unknown.
void match(const std::vector<PlatformGrade>& grades, Platform platform, const std::vector<Row>& rows,
           const std::function<std::string(const Row&)>& number_of,
           const std::function<std::string(const Row&)>& name_of, FilledGradebook& filled,
           const std::function<void(const Row&, const PlatformGrade&)>& take) {
  for (const PlatformGrade& one : grades) {
    if (one.name.platform != platform) continue;
    const auto leave_out = [&](const std::string& why) {
      filled.remarks.push_back(concat(one.name.key(), " (", one.name.student, "): ", why));
    };
    const auto row = std::ranges::find_if(rows.begin() + 1, rows.end(), [&](const Row& each) {
      return !one.name.number.empty() && number_of(each) == one.name.number;
    });
    if (row == rows.end()) {
      leave_out("no row has this number");
    } else if (!is_same_student(one.name, name_of(*row))) {
      leave_out(concat("the row with this number is of ", shown_cell(name_of(*row)), "; enter it by hand"));
    } else {
      take(*row, one);
      if (one.grade.status != "graded") leave_out(one.grade.status);
    }
  }
}

bool ends_in_number(const std::string& heading) {
  return heading.ends_with(')') && heading.size() > 3 &&
         !digits_at_end(heading.substr(0, heading.size() - 1)).empty() &&
         heading[heading.size() - 2 - digits_at_end(heading.substr(0, heading.size() - 1)).size()] == '(';
}

std::size_t assignment_column(const Row& header, std::size_t first, const std::string& wanted) {
  std::vector<std::size_t> found;
  std::string all;
  for (std::size_t i = first; i < header.size(); ++i) {
    if (!ends_in_number(header[i])) continue;
    all += concat("\n  ", shown_cell(header[i]));
    if (wanted.empty() || header[i] == wanted || header[i].ends_with(concat("(", wanted, ")"))) found.push_back(i);
  }
  if (found.size() == 1) return found.front();
  throw UsageError(concat(wanted.empty() ? "which column is this assignment's?" : "no such column of the gradebook: ",
                          wanted, " Give one of these with --canvas-column:", all.empty() ? " (none)" : all));
}

}  // namespace

MoodleWorksheet::MoodleWorksheet(const std::string& csv) : rows_(read_table(csv)) {
  const Row header = rows_.empty() ? Row{} : rows_.front();
  const auto optional = [&](const std::string& name) {
    return place_of(header, name) < header.size() ? place_of(header, name) : kNone;
  };
  const auto required = [&](const std::string& name) {
    if (optional(name) != kNone) return optional(name);
    throw FormatError(concat("the worksheet has no column \"", name,
                             "\": download it from Moodle in English (your profile, Preferred language)"));
  };
  identifier_ = required("Identifier");
  points_ = required("Grade");
  modified_ = required("Last modified (grade)");
  name_ = optional("Full name");
  maximum_ = optional("Maximum grade");
  feedback_ = optional("Feedback comments");
  for (std::size_t i = 1; i < rows_.size(); ++i) std::ignore = maximum_in(cell_of(rows_[i], maximum_));
}

std::string MoodleWorksheet::filled_row(const Row& row, const StudentGrade& grade) const {
  Row cells;
  for (std::size_t i = 0; i < rows_.front().size(); ++i) {
    if (i == points_)
      cells.push_back(scaled(grade, maximum_in(cell_of(row, maximum_))));
    else if (i == feedback_)
      cells.push_back(feedback_of(grade));
    else if (i == identifier_ || i == name_ || i == maximum_ || i == modified_)
      cells.push_back(cell_of(row, i));
  }
  return csv_line(cells);
}

FilledGradebook MoodleWorksheet::fill(const std::vector<PlatformGrade>& grades) const {
  Row header;
  for (std::size_t i = 0; i < rows_.front().size(); ++i)
    if (i == points_ || i == feedback_ || i == identifier_ || i == name_ || i == maximum_ || i == modified_)
      header.push_back(rows_.front()[i]);
  FilledGradebook filled{.text = csv_line(header)};
  match(
      grades, Platform::kMoodle, rows_, [&](const Row& row) { return digits_at_end(cell_of(row, identifier_)); },
      [&](const Row& row) { return cell_of(row, name_); }, filled,
      [&](const Row& row, const PlatformGrade& one) {
        if (one.grade.status == "SETUP") return;  // tried again
        // Of a folder's name Moodle reads the number and the two words after it.
        filled.feedback[concat(one.name.key(), "_assignsubmission_file_/feedback.txt")] = feedback_markdown(one.grade);
        if (one.grade.status != "graded") return;
        filled.text += filled_row(row, one.grade);
        ++filled.filled;
      });
  return filled;
}

CanvasGradebook::CanvasGradebook(const std::string& csv, const std::string& column) : rows_(read_table(csv)) {
  const Row header = rows_.empty() ? Row{} : rows_.front();
  id_ = place_of(header, "ID");
  section_ = place_of(header, "Section");
  const bool has_names = !header.empty() && (header.front() == "Student" || header.front() == "LastName");
  if (!has_names || section_ >= header.size() || id_ >= section_)
    throw FormatError("this is not Canvas' gradebook: it has no columns Student, ID and Section");
  column_ = assignment_column(header, section_ + 1, column);
  for (std::size_t i = 1; i < rows_.size() && possible_ == 0; ++i)
    if (cell_of(rows_[i], 0).find("Points Possible") != std::string::npos) possible_ = i;
  std::ignore = maximum_in(possible_points());
}

std::string CanvasGradebook::possible_points() const { return possible_ > 0 ? cell_of(rows_[possible_], column_) : ""; }

std::string CanvasGradebook::line_of(const Row& row, const std::string& points) const {
  Row cells(section_ + 2);
  for (std::size_t i = 0; i <= section_; ++i) cells[i] = cell_of(row, i);
  cells.back() = points;
  return csv_line(cells);
}

FilledGradebook CanvasGradebook::fill(const std::vector<PlatformGrade>& grades) const {
  FilledGradebook filled{.text = line_of(rows_.front(), rows_.front()[column_])};
  const std::optional<double> maximum = maximum_in(possible_points());
  if (possible_ > 0) filled.text += line_of(rows_[possible_], possible_points());
  match(
      grades, Platform::kCanvas, rows_, [&](const Row& row) { return cell_of(row, id_); },
      [&](const Row& row) { return id_ == 2 ? cell_of(row, 0) + cell_of(row, 1) : cell_of(row, 0); }, filled,
      [&](const Row& row, const PlatformGrade& one) {
        if (one.grade.status != "graded") return;
        filled.text += line_of(row, scaled(one.grade, maximum));
        ++filled.filled;
      });
  return filled;
}

}  // namespace lockstep::grading
