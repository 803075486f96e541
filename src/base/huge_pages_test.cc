#include "base/huge_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

namespace assay {
namespace {

constexpr size_t kPages = 16;

class TakePagesTest : public ::testing::Test {
 protected:
  ~TakePagesTest() override { ::munmap(memory_, kPages * page_); }

  std::vector<bool> Present() const {
    std::vector<unsigned char> found(kPages);
    EXPECT_EQ(::mincore(memory_, kPages * page_, found.data()), 0);
    std::vector<bool> present;
    for (const unsigned char page : found) {
      present.push_back((page & 1) != 0);
    }
    return present;
  }

  size_t page_ = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  char* memory_ =
      static_cast<char*>(::mmap(nullptr, kPages* page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
};

TEST_F(TakePagesTest, TakesThoseThatLieInTheMemoryAndNoOthers) {
  TakePages(memory_ + 1, 5 * page_);
  std::vector<bool> expected(kPages);
  for (size_t page = 1; page < 5; ++page) {
    expected[page] = true;
  }
  EXPECT_EQ(Present(), expected);
}

TEST_F(TakePagesTest, WithoutAWholePageItTakesNone) {
  TakePages(memory_ + 1, page_);
  TakePages(memory_, 0);
  EXPECT_EQ(Present(), std::vector<bool>(kPages));
}

}  // namespace
}  // namespace assay
