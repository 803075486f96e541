#include "shards/format/encoding.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "shards/format/python_text.h"
#include "storage/integrity/checksum.h"

namespace assay::shards {
namespace {

using storage::HexDecode;
using storage::HexEncode;
using testing::ElementsAre;
using testing::HasSubstr;

Field Text(std::string_view text) {
  Field field;
  field.SetText(FieldKind::kText, text);
  return field;
}
Field Json(std::string_view text) {
  Field field;
  field.SetText(FieldKind::kJson, text);
  return field;
}
Field Integer(int64_t value) {
  Field field;
  field.SetInteger(value);
  return field;
}
Field Number(double value) {
  Field field;
  field.SetNumber(value);
  return field;
}

/// The bytes in hexadecimal, or why there are none.
std::string Encoded(std::string_view encoding, const Field& field) {
  std::string out;
  const Status status = EncodeField(*Encoding::Parse(encoding), field, out);
  return status.ok() ? HexEncode(out) : status.message();
}

Status Decoded(std::string_view encoding, std::string_view hex, Field& field) {
  static std::string bytes;
  bytes = *HexDecode(hex);
  return DecodeField(*Encoding::Parse(encoding), std::as_bytes(std::span(bytes)), field);
}

// Bytes that mds_encode() of mosaicml-streaming gives for the same values.
TEST(Encode, WritesNumbers) {
  EXPECT_EQ(Encoded("int", Integer(-2)), "feffffffffffffff");
  EXPECT_EQ(Encoded("uint8", Integer(200)), "c8");
  EXPECT_EQ(Encoded("uint64", Integer(5)), "0500000000000000");
  EXPECT_EQ(Encoded("float32", Number(0.1)), "cdcccc3d");
  EXPECT_EQ(Encoded("float64", Integer(3)), "0000000000000840");
  EXPECT_EQ(Encoded("float16", Number(0.1)), "662e");
  EXPECT_EQ(Encoded("float16", Number(65519)), "ff7b");
  EXPECT_EQ(Encoded("float16", Number(65520)), "007c");
  EXPECT_EQ(Encoded("float16", Number(-6e-8)), "0180");
  EXPECT_EQ(Encoded("str_int", Integer(-12)), HexEncode("-12"));
  EXPECT_EQ(Encoded("str_float", Number(1e16)), HexEncode("1e+16"));
  Field decimal = Number(1.5);
  decimal.text = "1.50";
  EXPECT_EQ(Encoded("str_decimal", decimal), HexEncode("1.50"));
}

TEST(Encode, WritesArrays) {
  EXPECT_EQ(Encoded("ndarray", Json("[[0,1,2],[3,4,5]]")),
            "410802030000000000000000010000000000000002000000000000000300"
            "00000000000004000000000000000500000000000000");
  EXPECT_EQ(Encoded("ndarray:uint16", Json("[[0,1,2],[3,4,5]]")), "080203000001000200030004000500");
  EXPECT_EQ(Encoded("ndarray:float32:2", Json("[1,0.5]")), "0000803f0000003f");
  std::string many = "[0";
  for (int i = 1; i < 300; ++i) {
    many += ",0";
  }
  EXPECT_EQ(Encoded("ndarray:uint8", Json(many + "]")).substr(0, 8), "052c0100");  // a size beyond one byte takes two
}

TEST(Encode, WritesFilesAndJson) {
  EXPECT_EQ(Encoded("jpeg", Text("aGk=")), HexEncode("hi"));
  EXPECT_EQ(Encoded("jpeg_array", Json(R"(["aGk=","YQ=="])")), "020000000200000001000000" + HexEncode("hia"));
  EXPECT_EQ(Encoded("list[png]", Json(R"(["aGk="])")), "000000000100000002000000" + HexEncode("hi"));
  EXPECT_EQ(Encoded("json", Json(R"({"b":[1,2.50,"é\u0041"],"a":null,"b":1e3})")),
            HexEncode(R"({"b": 1000.0, "a": null})"));
}

TEST(Encode, RefusesWhatTheColumnDoesNotHold) {
  EXPECT_EQ(Encoded("str", Integer(1)), "it is an integer, which str does not hold");
  EXPECT_EQ(Encoded("int", Text("1")), "it is text, which int does not hold");
  EXPECT_EQ(Encoded("uint8", Integer(256)), "256 is beyond the range of uint8");
  EXPECT_EQ(Encoded("uint32", Integer(-1)), "-1 is beyond the range of uint32");
  EXPECT_EQ(Encoded("int8", Number(1.5)), "it is a number with a fraction, which int8 does not hold");
  EXPECT_EQ(Encoded("bytes", Text("a b")), "the text is no base64, which stands for bytes here");
  EXPECT_EQ(Encoded("ndarray:int32:3", Json("[1,2]")), "ndarray:int32:3 does not hold the array: its shape is another");
  EXPECT_EQ(Encoded("ndarray:int32", Json("[[1],[1,2]]")), "the list is no array: it holds lists of 1 and of 2");
  EXPECT_EQ(Encoded("ndarray:int32", Json("[1.5]")),
            "it is a number with a fraction, which ndarray:int32 does not hold");
  EXPECT_EQ(Encoded("ndarray:int32", Json("[]")),
            "ndarray:int32 does not hold the array: an array has 1 to 63 dimensions, and at least one number");
}

TEST(Encoding, IsReadFromItsName) {
  EXPECT_EQ(Encoding::Parse("ndarray:int32:2,3")->fixed_bytes, 24);
  EXPECT_EQ(Encoding::Parse("ndarray:int32")->fixed_bytes, std::nullopt);
  const auto refusal = [](std::string_view name) { return Encoding::Parse(name).status().message(); };
  EXPECT_THAT(refusal("pkl"), HasSubstr("a pickle runs whatever program it holds"));
  EXPECT_THAT(refusal("strr"), HasSubstr("did you mean 'str'?"));
  EXPECT_THAT(refusal("ndarray:bfloat16"), HasSubstr("MDS has no arrays of 'bfloat16'"));
  EXPECT_THAT(refusal("ndarray:int8:0"), HasSubstr("sizes of 1 and more"));
  EXPECT_THAT(refusal("ndarray:int64:100000,100000"), HasSubstr("less than 4 GiB"));
  EXPECT_THAT(refusal("str:9"), HasSubstr("takes nothing behind a colon"));
}

TEST(Encoding, ColumnsAreReadSorted) {
  const auto columns = *ParseColumns("tok:ndarray:int32:2,3,label:int,b:str");
  std::vector<std::string> names;
  for (const Column& column : columns) {
    names.push_back(column.name + "=" + column.encoding.name);
  }
  EXPECT_THAT(names, ElementsAre("b=str", "label=int", "tok=ndarray:int32:2,3"));
  EXPECT_THAT(ParseColumns("a").status().message(), HasSubstr("'a' is not NAME:ENCODING"));
  EXPECT_THAT(ParseColumns("a:int,a:str").status().message(), HasSubstr("'a' is named twice"));
}

TEST(Decode, GivesBackWhatWasWritten) {
  Field field;
  ASSERT_TRUE(Decoded("ndarray", "0904030201ff", field).ok());
  EXPECT_EQ(field.dtype, DType::kInt8);
  EXPECT_THAT(field.shape, ElementsAre(3));
  ASSERT_TRUE(Decoded("list[jpeg]", "00000000020000000100000002000000616263", field).ok());
  EXPECT_THAT(field.items, ElementsAre("a", "bc"));
  ASSERT_TRUE(Decoded("float16", "662e", field).ok());
  EXPECT_NEAR(field.number, 0.1, 1e-4);
  ASSERT_TRUE(Decoded("uint64", "ffffffffffffffff", field).ok());
  EXPECT_EQ(field.kind, FieldKind::kUnsigned);
}

TEST(Decode, ChecksEverySize) {
  Field field;
  const auto refusal = [&](std::string_view encoding, std::string_view hex) {
    return Decoded(encoding, hex, field).message();
  };
  EXPECT_THAT(refusal("int", "0011"), HasSubstr("it has 2 bytes in place of 8"));
  EXPECT_THAT(refusal("str", "ff"), HasSubstr("it is no UTF-8"));
  EXPECT_THAT(refusal("ndarray", "07"), HasSubstr("its type of numbers is none"));
  EXPECT_THAT(refusal("ndarray:int32", "04ff01"), HasSubstr("its numbers do not fill its shape"));
  EXPECT_THAT(refusal("ndarray:int32", "07ff"), HasSubstr("its shape is cut short"));
  EXPECT_THAT(refusal("ndarray:uint8", "0bffffffffffffffffffffffffffffffff01"), HasSubstr("do not fill"));
  EXPECT_THAT(refusal("jpeg_array", "ffffffff"), HasSubstr("it is cut short"));
  EXPECT_THAT(refusal("jpeg_array", "01000000ff00000061"), HasSubstr("longer than it is"));
  EXPECT_THAT(refusal("list[pil]", "0000000001000000010000006162"), HasSubstr("goes on behind"));
  EXPECT_THAT(refusal("pil", "0100000001000000ff000000"), HasSubstr("it is cut short"));
  EXPECT_THAT(refusal("str_int", HexEncode("1x")), HasSubstr("other characters than digits"));
}

std::string PythonFloat(double value) {
  std::string out;
  AppendPythonFloat(out, value);
  return out;
}

TEST(PythonText, WritesFloatsAsStrDoes) {
  EXPECT_EQ(PythonFloat(1), "1.0");
  EXPECT_EQ(PythonFloat(-0.0), "-0.0");
  EXPECT_EQ(PythonFloat(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(PythonFloat(123456789012345680), "1.2345678901234568e+17");
  EXPECT_EQ(PythonFloat(1e15), "1000000000000000.0");
  EXPECT_EQ(PythonFloat(1e16), "1e+16");
  EXPECT_EQ(PythonFloat(0.0001), "0.0001");
  EXPECT_EQ(PythonFloat(0.00001), "1e-05");
  EXPECT_EQ(PythonFloat(5e-324), "5e-324");
  EXPECT_EQ(PythonFloat(INFINITY), "inf");
}

TEST(PythonText, WritesDecimalsAsStrDoes) {
  const auto decimal = [](std::string_view text) {
    std::string out;
    const Status status = AppendPythonDecimal(out, text);
    return status.ok() ? out : status.message();
  };
  EXPECT_EQ(decimal("0.50"), "0.50");
  EXPECT_EQ(decimal("1e5"), "1E+5");
  EXPECT_EQ(decimal("-12.5e-3"), "-0.0125");
  EXPECT_EQ(decimal("0.0000001"), "1E-7");
  EXPECT_EQ(decimal("000.0"), "0.0");
  EXPECT_EQ(decimal("123456789.123456789123456789"), "123456789.123456789123456789");
  EXPECT_THAT(decimal("1.2.3"), HasSubstr("no decimal number"));
  EXPECT_THAT(decimal("."), HasSubstr("no decimal number"));
}

TEST(PythonText, RewritesJsonAsPythonWould) {
  const auto rewritten = [](std::string_view json) {
    std::string out;
    const Status status = AppendPythonJson(out, json);
    return status.ok() ? out : status.message();
  };
  EXPECT_EQ(rewritten(R"([1,-0,2.0,1E2,123456789012345678901234567890,true,null])"),
            R"([1, 0, 2.0, 100.0, 123456789012345678901234567890, true, null])");
  EXPECT_EQ(rewritten(R"("a\u00e9\ud83d\ude00\n\/")"), R"("a\u00e9\ud83d\ude00\n/")");
  EXPECT_EQ(rewritten(R"({"x":{},"y":[],"x":[{}]})"), R"({"x": [{}], "y": []})");
  EXPECT_EQ(rewritten("  7 "), "7");
  EXPECT_EQ(rewritten("1e999"), "Infinity");
  for (const std::string_view bad : {"", "1 2", "[1", "nul", "01", "[1.]", "{\"a\":}", "\"\\ud800\"", "[truth]"}) {
    EXPECT_THAT(rewritten(bad), HasSubstr("no JSON")) << bad;
  }
  EXPECT_THAT(rewritten(std::string(600, '[') + std::string(600, ']')), HasSubstr("no JSON"));
}

}  // namespace
}  // namespace assay::shards
