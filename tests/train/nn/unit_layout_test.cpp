// Who owns which element of a unit.
#include "nn/unit_layout.hpp"

#include <vector>

#include "nn/gpt_parameters.hpp"
#include "nn/parameter_units.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using nn::UnitLayout;

TEST_CASE("every element of every parameter has one owner, whatever the sizes and the number of ranks",
          "[nn][sharded]") {
  const std::vector<std::vector<std::int64_t>> cases{
      {1}, {16}, {17, 3}, {5, 1000, 64, 1}, {0, 7, 0}, {48, 48, 48, 48, 48}};
  for (const auto& counts : cases) {
    for (int ranks = 1; ranks <= 8; ++ranks) {
      const UnitLayout layout(counts, ranks);
      INFO(counts.size() << " parameters, " << ranks << " ranks");
      CHECK(layout.count() % (16 * ranks) == 0);
      for (std::size_t i = 0; i < counts.size(); ++i) {
        CHECK(layout.place_of(i).begin % 16 == 0);
        CHECK(layout.place_of(i).count() == counts[i]);
        std::vector<int> owners(static_cast<std::size_t>(counts[i]));
        for (int rank = 0; rank < ranks; ++rank) {
          const Range own = layout.own_elements(i, rank);
          for (std::int64_t e = own.begin; e < own.end; ++e) {
            ++owners.at(static_cast<std::size_t>(e));
            const std::int64_t in_unit = layout.place_of(i).begin + e;
            CHECK((in_unit >= layout.part_of(rank).begin && in_unit < layout.part_of(rank).end));
          }
        }
        CHECK(owners == std::vector<int>(owners.size(), 1));
      }
    }
  }
}

TEST_CASE("parameters follow each other at cache lines, and parts are equal", "[nn][sharded]") {
  const UnitLayout layout(std::vector<std::int64_t>{20, 100, 3}, 4);
  CHECK(layout.place_of(0) == Range{0, 20});
  CHECK(layout.place_of(1) == Range{32, 132});
  CHECK(layout.place_of(2) == Range{144, 147});
  CHECK(layout.count() == 192);  // 147, rounded up to 4 * 16
  CHECK(layout.part_of(1) == Range{48, 96});
  CHECK(layout.own_elements(1, 1) == Range{16, 64});
  CHECK(layout.own_elements(0, 1).count() == 0);
  CHECK(layout.own_elements(2, 3) == Range{0, 3});
}

TEST_CASE("a unit is a block's matrices, an embedding, or all vectors", "[nn][sharded]") {
  const auto name = [](const std::string& parameter, const Shape& shape) { return nn::unit_of({parameter, shape}); };
  CHECK(name("h.3.attn.c_attn.weight", {2, 6}) == "h.3");
  CHECK(name("model.layers.10.mlp.weight", {2, 6}) == "model.layers.10");
  CHECK(name("wte.weight", {5, 2}) == "wte");
  CHECK(name("weight", {5, 2}) == "weight");
  CHECK(name("h.3.attn.c_attn.bias", {6}) == "vectors");
}
