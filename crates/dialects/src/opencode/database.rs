//! The database in which opencode keeps its sessions: rows become the records of an exported session.

use streamfmt_core::dialect::SessionDatabase;

/// The database, as versions from 1.2 on write it. Columns that only newer versions have are read where they exist.
pub(crate) const DATABASE: SessionDatabase = SessionDatabase {
    variables: &[("XDG_DATA_HOME", "opencode")],
    home: ".local/share/opencode",
    // A version from another channel adds its name: `opencode-dev.db`.
    is_named: |name| {
        let rest = name.strip_prefix("opencode").and_then(|rest| rest.strip_suffix(".db"));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    },
    export: "opencode export ID > FILE",
    // The sessions of sub-agents are shown in that of the agent that called them, if it is there and has the call.
    sessions: "
WITH called(id) AS (
    SELECT json_extract(data, '$.state.metadata.sessionId') FROM part
    WHERE session_id IN (SELECT parent_id FROM session)
        AND instr(data, '\"sessionId\"') AND json_valid(data) AND json_extract(data, '$.tool') = 'task'
)
SELECT id FROM session AS s
WHERE parent_id IS NULL OR id NOT IN (SELECT id FROM called WHERE id IS NOT NULL)
    OR NOT EXISTS (SELECT 1 FROM session WHERE id = s.parent_id)
ORDER BY time_created, id",
    below: "
WITH RECURSIVE tree(id) AS (
    SELECT id FROM session WHERE parent_id = ?1
    UNION SELECT s.id FROM session AS s JOIN tree ON s.parent_id = tree.id
)
SELECT id FROM tree WHERE id <> ?1",
    changed: "
WITH RECURSIVE tree(id) AS (
    VALUES (?1)
    UNION SELECT s.id FROM session AS s JOIN tree ON s.parent_id = tree.id
), entry(at) AS (
    SELECT time_updated FROM tree JOIN session AS s ON s.id = tree.id
    UNION ALL SELECT time_updated FROM tree JOIN message AS m ON m.session_id = tree.id
    UNION ALL SELECT time_updated FROM tree JOIN part AS p ON p.session_id = tree.id
)
SELECT CAST(max(at) AS INTEGER) AS changed, count(*) AS entries FROM entry",
    records: "
SELECT id FROM session WHERE id = ?1
UNION ALL SELECT id FROM (
    SELECT id FROM message WHERE session_id = (SELECT id FROM session WHERE id = ?1) ORDER BY time_created, id
)",
    // The column `model` of a session may be missing: the name is then that of `missing`.
    record: "
SELECT json_object('info', json_object('id', id, 'parentID', parent_id, 'directory', directory, 'title', title,
        'version', version, 'model', CASE WHEN json_valid(model_now) THEN json(model_now) END,
        'time', json_object('created', time_created, 'updated', time_updated)), 'messages', json('[]'))
FROM (
    SELECT s.*, (SELECT model FROM session AS t WHERE t.id = s.id) AS model_now
    FROM session AS s, (SELECT NULL AS model) AS missing WHERE s.id = ?1
)
UNION ALL
SELECT json_object('info', CASE WHEN json_valid(data) AND json_type(data) = 'object'
        THEN json_set(data, '$.id', id, '$.sessionID', session_id)
        ELSE json_object('id', id, 'sessionID', session_id, 'data', data) END,
    'parts', (
        SELECT json_group_array(CASE WHEN json_valid(p.data) AND json_type(p.data) = 'object'
                THEN json_set(p.data, '$.id', p.id, '$.messageID', p.message_id, '$.sessionID', p.session_id)
                ELSE json_object('type', 'damaged', 'id', p.id, 'data', p.data) END ORDER BY p.id)
        FROM part AS p WHERE p.message_id = m.id
    ))
FROM message AS m WHERE id = ?1",
};
