#include "shards/format/tar.h"

#include <gmock/gmock.h>

#include "shards/format/webdataset.h"

namespace assay::shards {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::span<const std::byte> AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string TarOf(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string tar;
  for (const auto& [name, content] : members) {
    EXPECT_TRUE(AppendTarMember(tar, name, AsBytes(content)).ok());
  }
  tar += TarEnd(tar.size());
  return tar;
}

std::vector<std::string> NamesIn(std::string_view tar) {
  std::vector<std::string> names;
  TarReader reader(AsBytes(tar));
  for (auto member = reader.Next(); member.ok() && *member; member = reader.Next()) {
    names.push_back((*member)->name);
  }
  return names;
}

TEST(Tar, NamesOfAnyLengthComeBack) {
  const std::string split = std::string(120, 'd') + "/" + std::string(90, 'n');
  const std::string extended(300, 'x');
  const std::string tar = TarOf({{"a.txt", "1"}, {split, "2"}, {extended, "3"}});
  EXPECT_THAT(NamesIn(tar), ElementsAre("a.txt", split, extended));
  EXPECT_EQ(tar.size() % 10240, 0u);
}

TEST(Tar, DamageIsNamed) {
  const auto refusal = [](std::string tar) {
    TarReader reader(AsBytes(tar));
    auto member = reader.Next();
    while (member.ok() && *member) {
      member = reader.Next();
    }
    return member.status().message();
  };
  const std::string tar = TarOf({{"a.txt", std::string(600, 'a')}});
  EXPECT_EQ(refusal(tar), "");
  std::string changed = tar;
  changed[0] = 'b';
  EXPECT_THAT(refusal(changed), HasSubstr("damaged at byte 0: a header's sum is wrong"));
  EXPECT_THAT(refusal(tar.substr(0, 700)), HasSubstr("a member ends behind the file"));
  EXPECT_THAT(refusal(tar.substr(0, 100)), HasSubstr("it ends within a header"));
}

TEST(WebDataset, MembersOfOneKeyAreASample) {
  const std::string tar = TarOf({{"x/a.b.txt", "hi"},
                                 {"x/a.cls", " 7\n"},
                                 {"x/a.JPG", "jpeg"},
                                 {"README", "no field"},
                                 {"__meta__/info.json", "{}"},
                                 {"x/b.json", "{}"}});
  const Offsets offsets = *FindWebSamples(AsBytes(tar));
  ASSERT_EQ(offsets.size(), 3u);
  WebSample sample;
  ASSERT_EQ(DecodeWebSample(AsBytes(tar).subspan(offsets[0], offsets[1] - offsets[0]), sample).message(), "");
  EXPECT_EQ(sample.key, "x/a");
  EXPECT_THAT(sample.names, ElementsAre("b.txt", "cls", "jpg"));
  EXPECT_EQ(sample.row[0].text, "hi");
  EXPECT_EQ(sample.row[1].integer, 7);
  EXPECT_EQ(sample.row[2].kind, FieldKind::kBytes);
}

TEST(WebDataset, ColumnsComeBack) {
  const std::vector<Column> columns = *ParseColumns("Caption:str,cls:uint8,image:jpeg,more:json,raw:bytes,x:float32");
  EXPECT_EQ(CheckWebColumns(columns).message(), "");
  Row row(columns.size());
  row[0].SetText(FieldKind::kText, "hi");
  row[1].SetInteger(7);
  row[2].SetText(FieldKind::kBytes, "jpeg");
  row[3].SetText(FieldKind::kJson, "[1]");
  row[4].SetText(FieldKind::kBytes, "");
  row[5].SetNumber(0.5);
  std::string tar;
  ASSERT_EQ(EncodeWebSample(columns, "0001", row, tar).message(), "");
  Row decoded;
  ASSERT_EQ(DecodeWebColumns(columns, AsBytes(tar), decoded).message(), "");
  EXPECT_EQ(decoded[0].text, "hi");
  EXPECT_EQ(decoded[1].integer, 7);
  EXPECT_EQ(decoded[2].text, "jpeg");
  EXPECT_EQ(decoded[3].text, "[1]");
  EXPECT_EQ(decoded[4].text, "");
  EXPECT_EQ(decoded[5].number, 0.5);
  WebSample own;
  ASSERT_EQ(DecodeWebSample(AsBytes(tar), own).message(), "");
  EXPECT_THAT(own.names, ElementsAre("caption.txt", "cls", "image.jpg", "more.json", "raw", "x.json"));
  row[1].SetBool(true);
  row[5].SetNumber(0.1);
  tar.clear();
  ASSERT_EQ(EncodeWebSample(columns, "0001", row, tar).message(), "");
  ASSERT_EQ(DecodeWebColumns(columns, AsBytes(tar), decoded).message(), "");
  EXPECT_EQ(decoded[1].integer, 1);
  EXPECT_EQ(decoded[5].number, static_cast<double>(0.1F));
  row[1].SetInteger(300);
  EXPECT_THAT(EncodeWebSample(columns, "0002", row, tar).message(), HasSubstr("column 'cls': 300 is beyond"));
  EXPECT_THAT(DecodeWebColumns(columns, AsBytes(TarOf({{"a.cls", "x"}})), decoded).message(),
              HasSubstr("column 'cls': it is no uint8"));
  EXPECT_THAT(DecodeWebColumns(columns, AsBytes(TarOf({{"a.cls", "1"}})), decoded).message(),
              HasSubstr("it has no 'Caption'"));
}

TEST(WebDataset, ColumnsThatHaveNoPlaceAreRefused) {
  const auto refusal = [](const char* columns) { return CheckWebColumns(*ParseColumns(columns)).message(); };
  EXPECT_THAT(refusal("a:ndarray:int32"), HasSubstr("column 'a': tar files hold no ndarray:int32"));
  EXPECT_THAT(refusal("a/b:str"), HasSubstr("column 'a/b': a tar file has no place"));
  EXPECT_THAT(refusal("T:str,t:str"), HasSubstr("beside another"));
  EXPECT_THAT(refusal("a.txt:bytes"), HasSubstr("know bytes by another name"));
  EXPECT_EQ(refusal("a.npy:bytes,image.jpg:bytes"), "");
}

TEST(WebDataset, WhatIsCutOffIsNoWholeSample) {
  const std::string tar = TarOf({{"a.txt", "1"}, {"a.cls", "1"}, {"b.txt", std::string(600, 'b')}});
  const uint64_t second = (*FindWebSamples(AsBytes(tar)))[1];
  EXPECT_EQ(*EndOfWholeSamples(AsBytes(tar)), second);
  EXPECT_EQ(*EndOfWholeSamples(AsBytes(tar).first(second + 700)), 0u);  // b.txt is cut off: a may go on behind it
  EXPECT_EQ(*EndOfWholeSamples(AsBytes(tar).first(second)), 0u);
}

TEST(Tar, WhatLiesBehindItsEndIsNotLost) {
  const std::string two = TarOf({{"a.txt", "1"}}) + TarOf({{"b.txt", "2"}});
  EXPECT_THAT(FindWebSamples(AsBytes(two)).status().message(),
              HasSubstr("damaged at byte 10240: it goes on behind its end"));
  EXPECT_THAT(EndOfWholeSamples(AsBytes(two).first(11000)).status().message(), HasSubstr("behind its end"));
}

TEST(WebDataset, DamageIsToldFromWhatIsCutOffAndCountsFromTheFilesBegin) {
  std::string tar = TarOf({{"a.txt", "1"}, {"b.txt", "2"}, {"c.txt", "3"}});
  tar[1024] = 'x';
  EXPECT_THAT(EndOfWholeSamples(AsBytes(tar).first(2000), 5120).status().message(),
              HasSubstr("damaged at byte 6144: a header's sum is wrong"));
  EXPECT_THAT(FindWebSamples(AsBytes(tar), 5120).status().message(), HasSubstr("at byte 6144"));
}

TEST(WebDataset, RefusesASampleThatContradictsItself) {
  WebSample sample;
  EXPECT_THAT(DecodeWebSample(AsBytes(TarOf({{"a.txt", "1"}, {"a.TXT", "2"}})), sample).message(),
              HasSubstr("'a.TXT' comes twice"));
  EXPECT_THAT(DecodeWebSample(AsBytes(TarOf({{"a.cls", "x"}})), sample).message(), HasSubstr("it is no integer"));
  EXPECT_THAT(DecodeWebSample(AsBytes(TarOf({{"a.txt", "\xff"}})), sample).message(), HasSubstr("it is no UTF-8"));
}

}  // namespace
}  // namespace assay::shards
