#include "exercise/subject.hpp"

#include <algorithm>
#include <cstddef>

#include "../../never_awaited.hpp"
#include "12_three_dimensions/4_one_norm/one_norm.hpp"

namespace lockstep::exercise {
namespace {

using one_norm::Part;
using one_norm::Spread;

// The parts lie one after another in `gradient`. `kinds` says of each whether tensor ranks have copies (1), whether
// data ranks have (2), and whether it is borrowed (4).
std::vector<Part> parts_of(const Question& question, std::span<float> gradient) {
  std::vector<Part> parts;
  std::size_t begin = 0;
  const auto kinds = question.numbers<std::int64_t>("kinds"), counts = question.numbers<std::int64_t>("counts");
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto count = static_cast<std::size_t>(counts[i]);
    parts.push_back({.name = question.get<std::string>("name_" + std::to_string(i)),
                     .along_tensor = (kinds[i] & 1) != 0 ? Spread::kCopied : Spread::kCut,
                     .along_data = (kinds[i] & 2) != 0 ? Spread::kCopied : Spread::kCut,
                     .is_borrowed = (kinds[i] & 4) != 0,
                     .gradient = gradient.subspan(begin, count)});
    begin += count;
  }
  return parts;
}

}  // namespace

Answer answer(Question& question) {
  std::vector<float> gradient = question.numbers<float>("gradient");
  const std::vector<Part> parts = parts_of(question, gradient);
  const one_norm::Place place{question.get<int>("pipeline"), question.get<int>("data"), question.get<int>("tensor")};
  LinkCollectives& world = question.collectives();
  const double squares = one_norm::own_squares(parts, place);
  const double norm = one_norm::clip_gradient(parts, place, question.get<double>("max_norm"), world);
  std::vector<std::int64_t> contributed;  // by collective
  for (const CollectiveEvent& event : world.events())
    if (event.kind == CollectiveEvent::Kind::kIssued) contributed.push_back(event.count);
  Answer result;
  result.set(kNeverAwaited, never_awaited(world));
  result.set_numbers<double>("numbers", std::vector<double>{squares, norm});  // may be NaN
  result.set_numbers<float>("gradient", gradient);
  result.set_numbers<std::int64_t>("contributed", contributed);
  return result;
}

}  // namespace lockstep::exercise
