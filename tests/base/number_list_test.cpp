#include "base/number_list.hpp"

#include <numeric>
#include <vector>

#include "support/catch.hpp"

using lockstep::list_numbers;

TEST_CASE("few numbers are listed one by one, even if they follow each other", "[base]") {
  CHECK(list_numbers({}).empty());
  CHECK(list_numbers(std::vector{7}) == "7");
  CHECK(list_numbers(std::vector{0, 1, 2, 3, 4, 5, 6, 9}) == "0, 1, 2, 3, 4, 5, 6, 9");
}

TEST_CASE("many numbers are listed as ranges", "[base]") {
  std::vector<int> numbers(1024);
  std::iota(numbers.begin(), numbers.end(), 0);
  CHECK(list_numbers(numbers) == "0-1023");
  numbers.erase(numbers.begin() + 512);
  CHECK(list_numbers(numbers) == "0-511, 513-1023");
  CHECK(list_numbers(std::vector{1, 2, 4, 5, 6, 8, 10, 11, 12}) == "1, 2, 4-6, 8, 10-12");
}

TEST_CASE("of many ranges the first are listed, and the numbers of the others are counted", "[base]") {
  std::vector<int> even;
  for (int number = 0; number < 1024; number += 2) even.push_back(number);
  CHECK(list_numbers(even) == "0, 2, 4, 6, 8, 10, 12, 14 and 504 more");
}
