#include "exercise/subject.hpp"

#include "10_tensor_parallel/5_random_numbers/random_numbers.hpp"
#include "base/text.hpp"

namespace lockstep::exercise {
namespace {

using Numbers = std::vector<std::int64_t>;

// Seven numbers for each seed.
Answer seeds(const Question& question) {
  const Numbers draws = question.numbers<std::int64_t>("draws");
  Numbers result;
  for (std::size_t i = 0; i + 6 < draws.size(); i += 7) {
    const tensor_parallel::Draw draw{.seed = static_cast<std::uint64_t>(draws[i]),
                                     .purpose = static_cast<tensor_parallel::Purpose>(draws[i + 1]),
                                     .layer = draws[i + 2],
                                     .step = draws[i + 3],
                                     .micro_batch = draws[i + 4]};
    const tensor_parallel::Place place{.data_rank = static_cast<int>(draws[i + 5]),
                                       .tensor_rank = static_cast<int>(draws[i + 6])};
    result.push_back(static_cast<std::int64_t>(tensor_parallel::seed_for(draw, place)));
  }
  Answer answer;
  answer.set_numbers<std::int64_t>("seeds", result);
  return answer;
}

}  // namespace

Answer answer(Question& question) {
  if (question.get<std::string>("what") == "seeds") return seeds(question);
  Answer result;
  for (int i = 0; i < question.get<int>("calls"); ++i) {
    const Numbers numbers = question.numbers<std::int64_t>(concat("numbers", i)),
                  samples = question.numbers<std::int64_t>(concat("samples", i));
    std::vector<float> elements = question.numbers<float>(concat("elements", i));
    const tensor_parallel::Part part{.cut = static_cast<tensor_parallel::Cut>(numbers.at(0)),
                                     .samples = samples,
                                     .positions = numbers.at(1),
                                     .width = numbers.at(2),
                                     .rank = static_cast<int>(numbers.at(3)),
                                     .ranks = static_cast<int>(numbers.at(4))};
    const tensor_parallel::Dropout dropout{.probability = static_cast<float>(question.get<double>("probability")),
                                           .seed = static_cast<std::uint64_t>(numbers.at(5)),
                                           .step = numbers.at(6),
                                           .layer = numbers.at(7)};
    tensor_parallel::drop_part(elements, dropout, part);
    result.set_numbers<float>(concat("elements", i), elements);
  }
  return result;
}

}  // namespace lockstep::exercise
