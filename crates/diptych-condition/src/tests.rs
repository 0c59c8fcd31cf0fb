//! Tests.
use crate::*;
#[test]
fn errors_x() {
    for text in ["edit_typ = 'add'", "edit_type = \"add\"", "scores('x') > 1", "score(gpt) > 1", "score > 1", "edit_type >= 4", "edit_type = 'x' AND 5", "5", "edit_type = ", "edit_type 'x'", "width > 1", "(SELECT 1)", "a; b", "edit_type LIKE 'a!' ESCAPE '!'", "edit_type LIKE 'a' ESCAPE '!!'", "1 < 2 < 3", "source = 1", "length(source) > 1", "box.x0 > 1 and references is null and split = 'a' and language = 'en' and mask.grid='x' and mask is null", "edit_type in (select 1)", "1e999 > 1", "'abc", "edit_type = x'ff'", "edit_type = 'é' AND edi = 1", "turn = '1'", "count(*) > 1", "exists (select 1)", "a.b.c.d = 1", "case when true then 1 end", "cast(turn as int)", "turn::int = 1", "edit_type = 'a'\nAND turn = 'x'"] {
        match Condition::parse(text) { Ok(c) => println!("{text}\n    OK {:?}", c.columns()), Err(e) => println!("{text}\n    {e}") }
    }
    for text in ["(".repeat(60000), "NOT ".repeat(16000), "- ".repeat(30000), "a = 1 AND ".repeat(6000), "turn".to_owned() + &"+1".repeat(30000), "turn".to_owned() + &"+1".repeat(900)+" = 1","turn = 1".to_owned() + &" AND turn = 1".repeat(400), "turn".to_owned() + &" IS NULL".repeat(450), "[".repeat(60000),"CASE WHEN ".repeat(6000), "a(".repeat(30000), "{".repeat(60000), "(select ".repeat(8000), "turn".to_owned()+&"::int".repeat(9000), "turn".to_owned()+&"[1]".repeat(9000), "(".repeat(60)+"turn=1"+&")".repeat(60), "NOT ".repeat(62)+"turn=1", "(".repeat(50)+"select 1"+&")".repeat(60), "a.".repeat(30000)] {
        let begun = std::time::Instant::now();
        let result = Condition::parse(&text);
        println!("{:.20} {:?} {}", text, begun.elapsed(), match result {Ok(_) => "OK".to_owned(), Err(e) => e.to_string()});
    }
}
