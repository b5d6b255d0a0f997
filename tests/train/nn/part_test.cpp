// Parameters of which this rank holds only some elements.
#include <string>
#include <vector>

#include "base/error.hpp"
#include "nn/layers.hpp"
#include "nn/module.hpp"
#include "support/catch.hpp"

using namespace lockstep;

namespace {

// Elements [4, 10) of a matrix, all of a vector, and columns of another matrix that a second rank holds too.
class Parts : public nn::Module {
 public:
  Parts() {
    (void)register_part("matrix", Tensor::zeros({6}), Slice::of({4, 3}).part({4, 10}));
    (void)register_part("vector", Tensor::zeros({3}), Slice::of({3}), nn::Owner::kAnotherRank);
    (void)register_part("columns", Tensor::zeros({4, 2}), Slice::of_columns({4, 6}, {{1, 2}, {4, 5}}));
    (void)register_part("nothing", Tensor::zeros({0}), Slice::of({5}).part({5, 5}));
  }
  void add(const std::string& name, const Shape& shape, const Slice& slice) {
    (void)register_part(name, Tensor::zeros(shape), slice);
  }
};

}  // namespace

TEST_CASE("a module's parameters hold all their elements, and this rank owns them", "[nn]") {
  const nn::Linear layer(2, 3, 1);
  for (const nn::NamedParameter& named : layer.named_parameters()) {
    CHECK(named.slice == Slice::of(named.parameter.shape()));
    CHECK(named.is_owned);
  }
  CHECK(nn::NamedParameter{}.name.empty());  // and one without a parameter is possible
}

TEST_CASE("a part of a parameter says which elements it holds and whether this rank owns them", "[nn]") {
  const Parts parts;
  const std::vector<nn::NamedParameter> named = parts.named_parameters();
  REQUIRE(named.size() == 4);
  CHECK(named[0].slice == Slice::of({4, 3}).part({4, 10}));
  CHECK(named[0].parameter.shape() == Shape{6});
  CHECK(named[0].is_owned);
  CHECK(named[1].slice == Slice::of({3}));
  CHECK_FALSE(named[1].is_owned);
  CHECK(named[2].slice.whole == Shape{4, 6});
  CHECK(named[3].slice.count() == 0);
}

TEST_CASE("a part of a matrix decays, though it has one dimension, and a part of a vector does not", "[nn]") {
  const Parts parts;
  const auto groups = nn::weight_decay_groups(parts, 0.1);
  REQUIRE(groups.size() == 2);
  REQUIRE(groups[0].parameters.size() == 2);
  CHECK(groups[0].parameters[0].name == "matrix");
  CHECK(groups[0].parameters[1].name == "columns");
  CHECK(groups[0].weight_decay == 0.1);
  REQUIRE(groups[1].parameters.size() == 2);
  CHECK(groups[1].weight_decay == 0);
}

TEST_CASE("elements that do not fit their slice are refused by name", "[nn]") {
  Parts parts;
  CHECK_THROWS_WITH(parts.add("odd", {5}, Slice::of({4, 3}).part({4, 10})),
                    ContainsSubstring("parameter odd: [5] for a slice of shape [6]"));
  CHECK_THROWS_WITH(parts.add("matrix", {6}, Slice::of({4, 3}).part({4, 10})),
                    ContainsSubstring("registers the name matrix twice"));
  CHECK_THROWS_AS(parts.add("wrong", {2}, Slice{{2}, {0, 1}, {{0, 3}}, {0, 2}}), ContractError);
}
