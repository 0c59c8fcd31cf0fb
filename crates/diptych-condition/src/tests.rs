//! Tests.
use crate::*;
#[test]
fn errors_x() {
    let n: usize = std::env::var("N").unwrap().parse().unwrap();
    for text in ["turn".to_owned() + &"+1".repeat(n)+" = 1","turn = 1".to_owned() + &" AND turn = 1".repeat(n/2), "f(turn".to_owned() + &"+1".repeat(n)+") = 1", "1=1".to_owned()+&"<1".repeat(n),  "turn".to_owned() + &" IS NULL".repeat(n/2), "[".repeat(n),"CASE WHEN ".repeat(n/2), "a(".repeat(n), "{".repeat(n), "(select ".repeat(n/2), "turn".to_owned()+&"::int".repeat(n/2), "turn".to_owned()+&"[1]".repeat(n/2),"cast(turn".to_owned() + &"+1".repeat(n-10)+" as int) = 1",  "(".repeat(60)+"turn=1"+&")".repeat(60), "NOT ".repeat(62)+"turn=1", "(".repeat(50)+"select 1"+&")".repeat(60), "a.".repeat(n), "case when turn ".repeat(60), "a in (".repeat(70), "a between ".repeat(70)] {
        let begun = std::time::Instant::now();
        let result = Condition::parse(&text);
        println!("{:.20} {:?} {}", text, begun.elapsed(), match result {Ok(_) => "OK".to_owned(), Err(e) => e.to_string()});
    }
}
