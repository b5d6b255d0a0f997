// predict: asks what a chapter's programs will print, runs them, and compares.
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <sstream>
#include <utility>

#include "base/command_line.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "course/predictions.hpp"
#include "exercise_tool/command.hpp"
#include "exercise_tool/predict_lesson.hpp"
#include "exercise_tool/shell.hpp"
#include "exercise_tool/verdict_view.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;

constexpr int kIndentation = 2;  // of answers and explanations

// A question and the learner's answer; no value if it was skipped.
struct Asked {
  const course::Prediction* question = nullptr;
  std::optional<double> answer;
};

// "12", "0.5", "1e-06"
std::string number(double value) {
  std::ostringstream text;
  text.precision(9);
  text << value;
  return text.str();
}

std::string wide(const std::string& text, int indentation) { return wrapped(text, indentation, prose_columns()); }

// A lesson's Markdown for the terminal. Lists have an item a line, and tables stay as they are.
std::string rendered(const std::string& markdown) {
  std::string text, paragraph;
  const auto end_paragraph = [&] { text += wide(course::without_markup(std::exchange(paragraph, "")), kIndentation); };
  for (const std::string& line : course::split_lines(markdown)) {
    static const std::regex kItem(R"((-|\d+\.) .*)");
    const bool is_row = line.starts_with('|');
    if (line.empty() || is_row || std::regex_match(line, kItem)) end_paragraph();
    if (is_row || line.empty())
      text += line + "\n";
    else
      paragraph += line + "\n";
  }
  end_paragraph();
  return text;
}

std::optional<double> ask(const course::Prediction& question, std::istream& in) {
  std::cout << "\n" << wide(question.question, 0);
  while (true) {
    std::cout << "your prediction" << (question.unit.empty() ? "" : " in " + question.unit)
              << (::isatty(STDIN_FILENO) == 1 ? " (Enter to leave it out, Ctrl-C to stop): " : ": ") << std::flush;
    std::string line;
    if (!std::getline(in, line) || course::trim(line).empty()) {
      std::cout << "none\n";
      return std::nullopt;
    }
    if (const auto answer = course::read_number(line)) {
      if (::isatty(STDIN_FILENO) == 0) std::cout << number(*answer) << "\n";
      return answer;
    }
    std::cout << "\"" << line << "\" does not begin with a number\n";
  }
}

// "twice as much", "0.1 times as much"; empty if the signs differ or the values are nearly equal.
std::string factor_text(double answer, double value) {
  if (answer * value <= 0) return "";
  const double factor = answer / value;
  if (std::abs(factor - 1) < 0.2) return concat(", ", number(std::round(std::abs(factor - 1) * 1000) / 10), " % off");
  std::ostringstream rounded;
  rounded.precision(2);
  rounded << factor;
  return concat(", which is ", rounded.str(), " times that");
}

// The result of a prediction, as a sentence. No value: the output does not have it.
std::string outcome(const Asked& asked, std::optional<double> printed) {
  if (!printed)
    return concat("the program does not print this here; the lesson says ",
                  number(course::shown_value(*asked.question).value_or(std::nan(""))));
  const double value = *printed;
  const std::string unit = asked.question->unit.empty() ? "" : " " + asked.question->unit;
  if (!asked.answer) return concat("it is ", number(value), unit);
  if (*asked.answer == value) return concat("right: ", number(value), unit);
  if (course::is_right(*asked.question, *asked.answer, value))
    return concat("right: ", number(value), unit, " (you said ", number(*asked.answer), ")");
  return concat("off: it is ", number(value), unit, ", you said ", number(*asked.answer),
                factor_text(*asked.answer, value));
}

// Runs the lesson's commands. @return  Their output, which is also printed.
std::vector<std::string> run_block(const LessonOfChapter& lesson, const course::Prediction& question) {
  std::string output;
  for (const course::ShownCommand& shown : course::shown_commands(*question.block, question.directive)) {
    std::cout << "\n$ " << shown.command << "\n" << std::flush;
    const std::string command =
        concat("PATH='", (lesson.workspace.build / "bin").string(), "':\"$PATH\" && export PATH NO_COLOR=1\n",
               course::with_built_tool(shown.command));
    const FinishedProcess finished = run({"sh", "-c", command}, lesson.workspace.root, Collect::kBoth);
    std::cout << finished.output;
    if (finished.exit_code == 127) throw UnavailableError("that program is not built: ./lockstep predict builds it");
    output += finished.output;
  }
  return course::split_lines(output);
}

// Compares the answers with the output, and prints what the lesson says of each.
void compare_answers(const LessonOfChapter& lesson, const std::vector<Asked>& asked, nlohmann::json& record) {
  const std::vector<std::string> output = run_block(lesson, *asked.front().question);
  std::cout << "\n";
  for (const Asked& each : asked) {
    const auto value = course::value_in(*each.question, output);
    if (&each != &asked.front()) std::cout << "\n";
    if (asked.size() > 1) std::cout << wide(each.question->question, 0);
    std::cout << wide(outcome(each, value), kIndentation);
    if (!each.question->explanation.empty()) std::cout << "\n" << rendered(each.question->explanation);
    if (!value || !each.answer) continue;
    record[each.question->id] = {{"answer", *each.answer},
                                 {"value", *value},
                                 {"is_right", course::is_right(*each.question, *each.answer, *value)}};
  }
}

// Earlier answers to these questions. A record from another version, or a truncated one, has none.
nlohmann::json earlier_answers(const fs::path& path, const std::vector<course::Prediction>& questions) {
  nlohmann::json answers = nlohmann::json::object();
  if (!fs::exists(path)) return answers;
  try {
    const nlohmann::json record = parse_json(read_file(path));
    for (const course::Prediction& question : questions) {
      const auto found = record.find(question.id);
      if (found != record.end() && found->at("is_right").is_boolean()) answers[question.id] = *found;
    }
  } catch (const nlohmann::json::exception&) {
    return nlohmann::json::object();
  }
  return answers;
}

void write_record(const fs::path& path, const nlohmann::json& record) {
  fs::create_directories(path.parent_path());
  const fs::path unfinished = path.string() + ".new";
  write_file(unfinished, dump_json(record, 1) + "\n");
  fs::rename(unfinished, path);
}

int predict_chapter(const LessonOfChapter& lesson, std::istream& in) {
  const std::vector<course::Prediction> questions = course::predictions_in(lesson.text);
  if (questions.empty()) throw UsageError(concat("the lesson of chapter ", lesson.number, " asks no questions"));
  std::cout << wide(concat("Chapter ", lesson.number, " asks ", counted(questions.size(), "question"),
                           ". Say what you expect; then the program runs."),
                    0);
  nlohmann::json record = nlohmann::json::object();
  for (std::size_t i = 0; i < questions.size();) {
    std::vector<Asked> asked;  // all questions about one run
    for (const course::FencedBlock* block = questions[i].block; i < questions.size() && questions[i].block == block;
         ++i)
      asked.push_back({&questions[i], ask(questions[i], in)});
    compare_answers(lesson, asked, record);
  }
  const fs::path path = lesson.workspace.root / ".lockstep" / "predictions" / (lesson.number + ".json");
  nlohmann::json kept = earlier_answers(path, questions);
  kept.update(record);  // a question that is left out keeps its earlier answer
  write_record(path, kept);
  std::cout << "\n"
            << wide(concat(right_of_all(record),
                           kept.size() > record.size() ? "; earlier answers to the other questions are kept" : "",
                           ". The lesson has more: ", lesson.workspace.shown(lesson.path)),
                    0);
  return 0;
}

}  // namespace

int predict(const Arguments& arguments) {
  std::string chapter, file;
  CommandLine app("Asks what a chapter's programs will print, runs them, and compares", "lockstep predict");
  app.add_option("chapter", chapter, "Its number, such as 02").required();
  app.add_option("--answers", file, "A file with one number a line, in the order of the questions; left out: asks")
      .without_default();
  app.footer("An empty line leaves a question out; an earlier answer to it is kept. Nothing of this is graded.");
  if (const auto done = app.parse(arguments)) return *done;
  const LessonOfChapter lesson = open_lesson(chapter);
  if (file.empty()) return predict_chapter(lesson, std::cin);
  std::istringstream answers(read_file(file));
  return predict_chapter(lesson, answers);
}

}  // namespace lockstep::exercise
