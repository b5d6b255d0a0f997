// zero_table: which rank owns which elements of a GPT. Makes neither the model nor
// ranks: names and shapes suffice.
#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/terminal.hpp"
#include "nn/gpt_parameters.hpp"
#include "nn/parameter_units.hpp"

namespace {

using namespace lockstep;

struct Options {
  std::string model = "tiny";
  int world_size = 4;
  std::string unit = "h.0";  // shown in full
};

using Parameters = std::vector<nn::ParameterShape>;

std::int64_t elements_in(const nn::ParameterUnit& unit, const Parameters& parameters) {
  std::int64_t count = 0;
  for (const std::size_t i : unit.parameters) count += parameters[i].shape.count();
  return count;
}

void print_summary(const std::vector<nn::ParameterUnit>& units, const Parameters& parameters) {
  std::cout << "unit      elements  gaps  each rank\n";
  for (const nn::ParameterUnit& unit : units) {
    const std::int64_t elements = elements_in(unit, parameters);
    std::cout << std::left << std::setw(8) << unit.name << std::right << std::setw(10) << elements << std::setw(6)
              << unit.layout.count() - elements << std::setw(11) << unit.layout.part_of(0).count() << "\n";
  }
}

// "0-4095", or "." for none.
std::string text_of(Range range) { return range.count() == 0 ? "." : concat(range.begin, "-", range.end - 1); }

// Which elements of each parameter a rank owns, counted from the parameter's first.
void print_owners(const nn::ParameterUnit& unit, const Parameters& parameters, int world_size) {
  TextTable table;
  std::vector<std::string> head = {concat("unit ", unit.name)};
  for (int rank = 0; rank < world_size; ++rank) head.push_back(concat("rank ", rank));
  table.add(head);
  for (std::size_t k = 0; k < unit.parameters.size(); ++k) {
    const nn::ParameterShape& parameter = parameters[unit.parameters[k]];
    std::vector<std::string> row = {concat(parameter.name, " ", parameter.shape)};
    for (int rank = 0; rank < world_size; ++rank) row.push_back(text_of(unit.layout.own_elements(k, rank)));
    table.add(row);
  }
  std::cout << "\n"
            << table.text();
}

// Of all parameters.
std::int64_t elements_owned(const std::vector<nn::ParameterUnit>& units, int rank) {
  std::int64_t owned = 0;
  for (const nn::ParameterUnit& unit : units) {
    for (std::size_t k = 0; k < unit.parameters.size(); ++k) owned += unit.layout.own_elements(k, rank).count();
  }
  return owned;
}

int run(const Options& options) {
  const nn::GptConfig config = nn::GptConfig::named(options.model);
  const Parameters parameters = nn::gpt_parameters(config);
  const std::vector<nn::ParameterUnit> units = nn::units_of(parameters, options.world_size);
  const auto shown = std::ranges::find(units, options.unit, &nn::ParameterUnit::name);
  if (shown == units.end()) throw UsageError(concat("--unit ", options.unit, ": the model has no such unit"));
  print_summary(units, parameters);
  print_owners(*shown, parameters, options.world_size);
  std::cout << "\nof " << nn::gpt_parameter_count(config) << " parameters each rank owns";
  for (int rank = 0; rank < options.world_size; ++rank) std::cout << " " << elements_owned(units, rank);
  std::cout << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Prints which rank owns which elements of a model that is trained with ZeRO");
  Options options;
  app.add_option("--model", options.model, "tiny, small, tutorial or 124m");
  app.add_option("--world-size", options.world_size, "Ranks").check(whole_number(1, 8));
  app.add_option("--unit", options.unit, "The unit to show in full: h.0, wte, wpe, vectors");
  return run_main(app, argc, argv, [&] { return run(options); });
}
