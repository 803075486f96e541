#include "job/row_digest.h"

#include <gtest/gtest.h>

namespace assay::job {
namespace {

TEST(RowDigestTest, IsTheSumOfTheRowsWhateverTheirOrder) {
  RowDigest one;
  one.Add("a", "b");
  EXPECT_EQ(one.value(), 0x15E87871);  // zlib.crc32(b"a\0b")
  RowDigest forward = one;
  forward.Add("c", "");
  RowDigest backward;
  backward.Add("c", "");
  backward.Add("a", "b");
  EXPECT_EQ(forward.value(), backward.value());
  RowDigest parted_elsewhere;
  parted_elsewhere.Add("", "ab");
  EXPECT_NE(parted_elsewhere.value(), one.value());
  forward.Add("c", "");
  EXPECT_NE(forward.value(), backward.value());
}

}  // namespace
}  // namespace assay::job
