#include "checkpoint/pickle/machine.h"

#include "checkpoint/pickle/pickle_writer.h"
#include "checkpoint/pickle/value_builder.h"
#include "checkpoint/testing.h"

namespace assay::checkpoint {
namespace {

using std::string_literals::operator""s;
using testing::HasSubstr;

const std::string kSource = "x.pkl";

Result<Value> Read(const std::string& bytes, GlobalList allowed = StateGlobals()) {
  ASSAY_ASSIGN_OR_RETURN(const Pickle pickle, ReadPickle(bytes, allowed, kSource));
  return ToPlainValue(pickle, kSource);
}

std::string TextOfPickle(const std::string& bytes) {
  return ShortText(Must(Read(bytes)), 200);
}

// Pickles below are those of Python's pickle module.

TEST(ReadPickle, EveryProtocol) {
  // {'a': [1, -2, 3000000000, 2.5, None, True], 'b': ('x',)}
  const std::string expected = "{'a': [1, -2, 3000000000, 2.5, None, True], 'b': tuple ['x']}";
  EXPECT_EQ(TextOfPickle("(dp0\nVa\np1\n(lp2\nI1\naI-2\naL3000000000L\naF2.5\naNaI01\nasVb\np3\n(Vx\np4\ntp5\ns."),
            expected);
  EXPECT_EQ(
      TextOfPickle("\x80\x02}q\x00(X\x01\x00\x00\x00"s + "aq\x01]q\x02(K\x01J\xfe\xff\xff\xff\x8a\x05\x00^\xd0\xb2"s +
                   "\x00G@\x04\x00\x00\x00\x00\x00\x00N\x88"s + "eX\x01\x00\x00\x00"s + "bq\x03X\x01\x00\x00\x00"s +
                   "xq\x04\x85q\x05u."s),
      expected);
  EXPECT_EQ(
      TextOfPickle("\x80\x04\x95\x2f\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01"s + "a\x94]\x94(K\x01J\xfe\xff\xff"s +
                   "\xff\x8a\x05\x00^\xd0\xb2\x00G@\x04\x00\x00\x00\x00\x00\x00N\x88"s + "e\x8c\x01"s +
                   "b\x94\x8c\x01x\x94\x85\x94u."s),
      expected);
}

TEST(ReadPickle, NumbersOfEverySize) {
  EXPECT_EQ(TextOfPickle("\x80\x02M\xff\xff."s), "65535");
  EXPECT_EQ(TextOfPickle("\x80\x02\x8a\x00."s), "0");
  EXPECT_EQ(TextOfPickle("\x80\x02\x8a\x01\xff."s), "-1");
  EXPECT_EQ(TextOfPickle("\x80\x02\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80."s), "-9223372036854775808");
  EXPECT_EQ(TextOfPickle("\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00."s), "int of 72 bits");
}

TEST(ReadPickle, OldTextsWithEscapes) {
  EXPECT_EQ(TextOfPickle("S'a\\n\\x41\\'\\101'\n."), "'a\nA'A'");
  EXPECT_EQ(TextOfPickle("Vsnow \\u2603 \xe9\n."s), "'snow \xe2\x98\x83 \xc3\xa9'");
  EXPECT_THAT(ErrorOf(Read("S'a\n.")), HasSubstr("without its quotes"));
}

TEST(ReadPickle, SharedObjectsStayShared) {
  const Value value = Must(Read("\x80\x02]q\x00(]q\x01K\x01"s + "ah\x01"s + "e."s));
  const auto& items = value.sequence()->items;
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].sequence(), items[1].sequence());
}

TEST(ReadPickle, OfEqualKeysTheLastCounts) {
  EXPECT_EQ(TextOfPickle("\x80\x02}(X\x01\x00\x00\x00"s + "aK\x01X\x01\x00\x00\x00"s + "aK\x02u."s), "{'a': 2}");
}

TEST(ReadPickle, RefusesEveryNameThatIsNotAllowed) {
  EXPECT_THAT(ErrorOf(Read("cos\nsystem\n(Vecho\ntR.")), HasSubstr("'os.system'"));
  EXPECT_THAT(ErrorOf(Read("\x80\x04\x8c\x02os\x8c\x06system\x93."s)), HasSubstr("'os.system'"));
  EXPECT_THAT(ErrorOf(Read("(Vecho\nios\nsystem\n.")), HasSubstr("'os.system'"));
  EXPECT_THAT(ErrorOf(Read("cbuiltins\neval\n.")), HasSubstr("'builtins.eval'"));
  EXPECT_THAT(ErrorOf(Read("c\xff\nx\n."s)), HasSubstr("\\xff.x"));
  // getattr is of metadata alone, and of names and texts there.
  EXPECT_THAT(ErrorOf(Read("cbuiltins\ngetattr\n(ctorch\nSize\nVx\ntR.")), HasSubstr("'builtins.getattr'"));
  EXPECT_TRUE(ReadPickle("cbuiltins\ngetattr\n(ctorch\nSize\nVx\ntR.", MetadataGlobals(), kSource).ok());
  EXPECT_THAT(ErrorOf(Read("cbuiltins\ngetattr\n(VSize\nVx\ntR.", MetadataGlobals())), HasSubstr("member"));
}

TEST(ReadPickle, CallsNothingThatMayNotBeCalled) {
  EXPECT_THAT(ErrorOf(Read("ctorch\nfloat32\n(tR.")), HasSubstr("calls torch.float32"));
  EXPECT_THAT(ErrorOf(Read("ctorch\nSize\n(tR(tR.")), HasSubstr("calls what is no name"));
  EXPECT_THAT(ErrorOf(Read("I5\n(tR.")), HasSubstr("calls what is no name"));
  EXPECT_THAT(ErrorOf(Read("ctorch\nSize\nI1\nR.")), HasSubstr("no tuple"));
}

TEST(ReadPickle, EveryCutIsAnError) {
  PickleWriter writer;
  writer.EmptyDict();
  writer.Mark();
  writer.Text("name");
  writer.Bytes("\x00\xff"s);
  writer.Text("number");
  writer.Int(-1234567890123);
  writer.Text("tuple");
  writer.Tuple({1, 2, 3, 4, 5});
  writer.SetItems();
  const std::string whole = writer.Finish();
  EXPECT_EQ(TextOfPickle(whole), "{'name': 2 bytes, 'number': -1234567890123, 'tuple': tuple [1, 2, 3, 4, 5]}");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(Read(whole.substr(0, size)).ok()) << size;
  }
}

TEST(ReadPickle, BoundsWhatAPickleMayTake) {
  const PickleLimits few = {.nodes = 100};
  EXPECT_THAT(ErrorOf(ReadPickle("\x80\x02("s + std::string(101, ']') + "l.", StateGlobals(), kSource, few)),
              HasSubstr("more than 100 objects"));
  EXPECT_THAT(ErrorOf(Read("\x80\x02Nr\xff\xff\xff\x7f."s)), HasSubstr("memo"));
  EXPECT_THAT(ErrorOf(Read("\x80\x02X\xff\xff\xff\x7f."s)), HasSubstr("claims"));
  const std::string deep = "\x80\x02"s + std::string(5000, ']') + std::string(4999, 'a') + ".";
  EXPECT_THAT(ErrorOf(Read(deep)), HasSubstr("nested"));
  EXPECT_THAT(ErrorOf(Read("\x80\x02]q\x00h\x00"s + "a."s)), HasSubstr("holds itself"));
  std::string laughs = "\x80\x02]q\x00(K\x01K\x01K\x01K\x01"s + "e"s;
  for (char i = 1; i < 40; ++i) {
    laughs += "]q"s + i + "(";
    for (int k = 0; k < 10; ++k) {
      laughs += "h"s + static_cast<char>(i - 1);
    }
    laughs += "e";
  }
  EXPECT_THAT(ErrorOf(Read(laughs + ".")), HasSubstr("bomb"));
  for (const char* again : {"h\0", "h\1"}) {
    // A text of 1 MiB, and a list of it.
    std::string texts = "\x80\x02]q\1X\0\0\x10\0"s + std::string(1 << 20, 'a') + "q\0a]("s;
    for (int k = 0; k < 300; ++k) {
      texts.append(again, 2);
    }
    EXPECT_THAT(ErrorOf(Read(texts + "e.")), HasSubstr("bomb")) << again;
  }
}

TEST(ReadPickle, TellsWhereItEnds) {
  const std::string two = "\x80\x02K\x05.\x80\x02K\x06."s;
  const Pickle first = Must(ReadPickle(two, StateGlobals(), kSource));
  EXPECT_EQ(first.end, 5u);
  EXPECT_EQ(Must(ReadPickle(std::string_view(two).substr(first.end), StateGlobals(), kSource)).root->integer, 6);
}

TEST(PickleWriter, TakesWhatComesAgainFromItsMemo) {
  PickleWriter writer;
  writer.EmptyList();
  writer.Mark();
  for (int i = 0; i < 300; ++i) {
    writer.Text("a text that comes again");
    writer.Text("text " + std::to_string(i));
  }
  writer.Appends();
  const std::string pickled = writer.Finish();
  EXPECT_LT(pickled.size(), 300u * 25);
  const Value value = Must(Read(pickled));
  ASSERT_EQ(value.sequence()->items.size(), 600u);
  EXPECT_EQ(*value.sequence()->items[598].get<std::string>(), "a text that comes again");
  EXPECT_EQ(*value.sequence()->items[599].get<std::string>(), "text 299");
}

TEST(PickleWriter, TakesNoTextForAName) {
  PickleWriter writer;
  writer.EmptyList();
  writer.Mark();
  writer.Global("torch", "float32");
  writer.Text("torch\nfloat32");
  writer.Global("torch", "float32");
  writer.Appends();
  const Value value = Must(Read(writer.Finish()));
  ASSERT_EQ(value.sequence()->items.size(), 3u);
  EXPECT_NE(value.sequence()->items[0].get<Value::Global>(), nullptr);
  ASSERT_NE(value.sequence()->items[1].get<std::string>(), nullptr);
  EXPECT_EQ(*value.sequence()->items[1].get<std::string>(), "torch\nfloat32");
  EXPECT_NE(value.sequence()->items[2].get<Value::Global>(), nullptr);
}

}  // namespace
}  // namespace assay::checkpoint
