#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "base/error.hpp"
#include "base/nearest_match.hpp"
#include "data/fetch.hpp"
#include "tool/command.hpp"
#include "tool/project.hpp"

namespace lockstep::tool {
namespace {

const std::vector<std::string> kTexts = {"tinyshakespeare"};

}  // namespace

int data(const Arguments& arguments) {
  std::string name;
  std::string out;
  CLI::App app("Fetches a well-known text to train on, and verifies its checksum", "lockstep data");
  app.add_option("text", name, "Which one: tinyshakespeare")->required();
  app.add_option("--out", out, "File to write (data/<text>.txt in the project's folder if left out)");
  if (const auto done = parse_arguments(app, arguments)) return *done;
  if (name != kTexts.front()) {
    throw UsageError(concat("no text called ", name, did_you_mean(name, kTexts), " (there is tinyshakespeare; ",
                            "any file of your own goes by ./lockstep train --data FILE)"));
  }
  const std::filesystem::path file =
      out.empty() ? find_project().root / "data" / (name + ".txt") : std::filesystem::path(out);
  std::filesystem::create_directories(std::filesystem::absolute(file).parent_path());
  ::lockstep::data::fetch_tiny_shakespeare(file);
  std::cout << file.string() << "\nTrain on it: ./lockstep train --data " << file.string() << "\n";
  return 0;
}

}  // namespace lockstep::tool
