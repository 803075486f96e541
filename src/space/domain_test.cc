#include "space/domain.h"

#include <gmock/gmock.h>

namespace assay::space {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Value Text(const char* text) {
  return std::string(text);
}
Value Int(int64_t value) {
  return value;
}

Domain Listed(std::vector<Value> values) {
  return *Domain::Values(std::move(values));
}
Domain Ranged(double minimum, double maximum, std::optional<double> interval) {
  return *Domain::Range(minimum, maximum, interval);
}

std::vector<Value> Members(const Domain& domain) {
  std::vector<Value> members;
  for (int64_t index = 0; index < domain.size().value(); ++index) {
    members.push_back(domain.At(index));
  }
  return members;
}

TEST(DomainTest, InfersTheTypeOfALists) {
  EXPECT_EQ(Listed({Int(1), 2.5}).type(), VariableType::kDiscrete);
  EXPECT_EQ(Listed({Text("a"), Int(2)}).type(), VariableType::kCategorical);
  EXPECT_EQ(Listed({Value(), Text("FSDP")}).type(), VariableType::kCategorical);
  EXPECT_EQ(Listed({true, false}).type(), VariableType::kBinary);
  EXPECT_EQ(Listed({false}).type(), VariableType::kBinary);
  EXPECT_EQ(Ranged(0, 1, std::nullopt).type(), VariableType::kContinuous);
  EXPECT_EQ(Ranged(0, 4, 2).type(), VariableType::kDiscrete);
  EXPECT_FALSE(Domain::Values({}).ok());
}

TEST(DomainTest, RangesEndBeforeTheirMaximum) {
  EXPECT_THAT(Members(Ranged(1, 4, 1)), ElementsAre(Int(1), Int(2), Int(3)));
  EXPECT_THAT(Members(Ranged(1, 4.5, 1)), ElementsAre(Int(1), Int(2), Int(3), Int(4)));
  EXPECT_THAT(Members(Ranged(1, 2, 5)), ElementsAre(Int(1)));
  EXPECT_TRUE(Ranged(0, 1, std::nullopt).Contains(0.0));
  EXPECT_FALSE(Ranged(0, 1, std::nullopt).Contains(Int(1)));
}

TEST(DomainTest, RoundsFloatsToTenDecimals) {
  // 0.1 + 2 * 0.1 is 0.30000000000000004, and three steps would reach 0.4, which is not in the range.
  EXPECT_THAT(Members(Ranged(0.1, 0.4, 0.1)), ElementsAre(Value(0.1), Value(0.2), Value(0.3)));
  EXPECT_TRUE(Ranged(0.1, 0.4, 0.1).Contains(0.1 + 0.2));
  EXPECT_FALSE(Ranged(0.1, 0.4, 0.1).Contains(0.4));
  EXPECT_FALSE(Ranged(0.1, 0.4, 0.1).Contains(0.15));
  EXPECT_TRUE(Listed({0.3}).Contains(0.1 + 0.2));
}

TEST(DomainTest, RefusesEmptyRangesAndBadIntervals) {
  EXPECT_FALSE(Domain::Range(3, 3, 1).ok());
  EXPECT_FALSE(Domain::Range(3, 1, 1).ok());
  EXPECT_FALSE(Domain::Range(1, 3, 0).ok());
  EXPECT_FALSE(Domain::Range(1, 3, -1).ok());
  EXPECT_FALSE(Domain::Range(0, 1e300, 1e-300).ok());
}

TEST(DomainTest, DropsDuplicates) {
  EXPECT_EQ(*Listed({Int(4), 4.0, Int(8)}).size(), 2);
}

TEST(DomainTest, CanonicalValuesMakeOnePointOfManySpellings) {
  EXPECT_EQ(*Ranged(1, 9, 1).Canonical(4.0), Int(4));
  EXPECT_EQ(*Domain::Binary().Canonical(Int(1)), Value(true));
  EXPECT_EQ(*Domain::Binary().Canonical(Int(0)), Value(false));
  EXPECT_EQ(*Listed({Text("True,True,False"), Value()}).Canonical(Value()), Value());
  EXPECT_EQ(*Listed({Text("3"), Text("x")}).Canonical(Int(3)), Text("3"));
  EXPECT_EQ(*Domain::AnyText().Canonical(Int(7)), Text("7"));
  EXPECT_FALSE(Domain::AnyText().Contains(Value()));
  EXPECT_FALSE(Domain::Binary().Contains(Int(2)));
  EXPECT_FALSE(Ranged(1, 9, 1).Contains(true));
  EXPECT_FALSE(Ranged(1, 9, 1).Contains(Text("4")));
}

TEST(DomainTest, SaysWhatIsOutsideAndWhatIsNear) {
  EXPECT_EQ(Ranged(1, 4097, 1).Canonical(Int(5000)).status().message(), "5000 is not in [1, 4097) step 1");
  EXPECT_EQ(Listed({Text("bfloat16"), Text("float32")}).Canonical(Text("bfloat61")).status().message(),
            "'bfloat61' is not in {bfloat16, float32} (did you mean 'bfloat16'?)");
  EXPECT_EQ(Domain::AnyText().Canonical(Text("")).status().message(), "expected a text that is not empty");
}

TEST(DomainTest, ChecksSubDomains) {
  const Domain batch = Ranged(1, 4097, 1);
  EXPECT_TRUE(Listed({Int(1), Int(4096)}).CheckSubDomainOf(batch).ok());
  EXPECT_THAT(Listed({Int(1), Int(4097)}).CheckSubDomainOf(batch).message(), HasSubstr("4097 is not in"));
  EXPECT_TRUE(Ranged(2, 4097, 2).CheckSubDomainOf(batch).ok());
  EXPECT_FALSE(Ranged(1, 4, 0.5).CheckSubDomainOf(batch).ok());
  EXPECT_FALSE(Ranged(0, 4, 1).CheckSubDomainOf(batch).ok());
  EXPECT_TRUE(Ranged(1, 1e9, 1).CheckSubDomainOf(Ranged(0, 1e10, std::nullopt)).ok());
  EXPECT_FALSE(Ranged(1, 1e9, 1).CheckSubDomainOf(Listed({Int(1), Int(2)})).ok());
  EXPECT_TRUE(Ranged(0.2, 0.5, std::nullopt).CheckSubDomainOf(Ranged(0, 1, std::nullopt)).ok());
  EXPECT_FALSE(Ranged(0.2, 1.5, std::nullopt).CheckSubDomainOf(Ranged(0, 1, std::nullopt)).ok());
  EXPECT_FALSE(Ranged(0, 1, std::nullopt).CheckSubDomainOf(batch).ok());
  EXPECT_TRUE(Listed({Text("a"), Int(4)}).CheckSubDomainOf(Domain::AnyText()).ok());
  EXPECT_TRUE(Listed({Int(0), Int(1)}).CheckSubDomainOf(Domain::Binary()).ok());
}

TEST(DomainTest, NoneMayStandBesideAnyText) {
  EXPECT_EQ(*Domain::AnyTextOrNone().Canonical(Value()), Value());
  EXPECT_EQ(*Domain::AnyTextOrNone().Canonical(Text("x")), Text("x"));
  EXPECT_TRUE(Listed({Value(), Text("x")}).CheckSubDomainOf(Domain::AnyTextOrNone()).ok());
  EXPECT_FALSE(Listed({Value(), Text("x")}).CheckSubDomainOf(Domain::AnyText()).ok());
  EXPECT_TRUE(Domain::AnyText().CheckSubDomainOf(Domain::AnyTextOrNone()).ok());
  EXPECT_FALSE(Domain::AnyTextOrNone().CheckSubDomainOf(Domain::AnyText()).ok());
  EXPECT_EQ(Domain::AnyTextOrNone().Describe(), "None or any text");
}

TEST(DomainTest, TellsWhereAMemberStands) {
  for (const Domain& domain : {Listed({Int(4), 2.5, Text("a")}), Ranged(0.1, 0.5, 0.1), Domain::Binary()}) {
    for (int64_t index = 0; index < domain.size().value(); ++index) {
      EXPECT_EQ(domain.IndexOf(domain.At(index)), index);
    }
    EXPECT_EQ(domain.IndexOf(Int(7)), std::nullopt);
  }
}

TEST(DomainTest, ALongListIsCutInMessagesAndWholeInTheManual) {
  std::vector<Value> values;
  for (int64_t i = 0; i < 14; ++i) {
    values.push_back(Int(i));
  }
  EXPECT_THAT(Listed(values).Describe(), HasSubstr("11, ... 14 values}"));
  EXPECT_THAT(Listed(values).DescribeInFull(), HasSubstr("11, 12, 13}"));
}

TEST(DomainTest, DescribesItself) {
  EXPECT_EQ(Ranged(1, 4097, 1).Describe(), "[1, 4097) step 1");
  EXPECT_EQ(Ranged(0, 1, std::nullopt).Describe(), "[0, 1)");
  EXPECT_EQ(Domain::Binary().Describe(), "{False, True}");
  EXPECT_EQ(Domain::AnyText().Describe(), "any text");
}

TEST(DomainTest, CountsOnlyWhatHasAnEnd) {
  EXPECT_FALSE(Ranged(0, 1, std::nullopt).size().has_value());
  EXPECT_FALSE(Domain::AnyText().size().has_value());
  EXPECT_EQ(*Ranged(0, 1e12, 1).size(), 1000000000000);
}

}  // namespace
}  // namespace assay::space
