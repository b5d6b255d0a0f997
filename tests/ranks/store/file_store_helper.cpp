// file_store_helper PATH: adds 1 to "count" and sets a long value until it is killed; says what it has counted.
#include <chrono>
#include <iostream>
#include <string>

#include "store/file_store.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto deadline = lockstep::Deadline::after(std::chrono::seconds(10));
  lockstep::store::FileStore store(argv[1], deadline);
  for (;;) {
    const std::int64_t count = store.add("count", 1);
    store.set("long", std::string(200'000, static_cast<char>('a' + count % 26)));
    std::cout << "counted " << count << std::endl;
  }
}
