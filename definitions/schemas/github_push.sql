ref STRING NOT NULL COMMENT 'Full name of the branch or tag',
before STRING NOT NULL COMMENT 'Commit before the push',
after STRING NOT NULL COMMENT 'Commit after the push',
created BOOLEAN NOT NULL,
deleted BOOLEAN NOT NULL,
forced BOOLEAN NOT NULL,
base_ref STRING,
compare STRING NOT NULL COMMENT 'Address of the difference',
head_commit STRUCT<
  id: STRING NOT NULL,
  message: STRING NOT NULL,
  timestamp: STRING NOT NULL,
  author: STRUCT<name: STRING NOT NULL, email: STRING, username: STRING>,
  committer: STRUCT<name: STRING NOT NULL, email: STRING, username: STRING>,
  added: ARRAY<STRING>,
  removed: ARRAY<STRING>,
  modified: ARRAY<STRING>
> COMMENT 'Null if the push deleted something',
repository STRUCT<
  id: BIGINT NOT NULL,
  full_name: STRING NOT NULL,
  private: BOOLEAN NOT NULL,
  default_branch: STRING,
  owner: STRUCT<id: BIGINT NOT NULL, login: STRING NOT NULL, email: STRING>
> NOT NULL,
pusher STRUCT<name: STRING NOT NULL, email: STRING> NOT NULL,
sender STRUCT<id: BIGINT NOT NULL, login: STRING NOT NULL, type: STRING> NOT NULL
